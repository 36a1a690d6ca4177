"""What there is to say about a rule."""

from __future__ import annotations

from compat.check.findings import Level
from compat.compiler.frozen import frozen


@frozen
class RuleInfo:
    """A rule as the catalogue shows it.

    ``id`` is permanent. ``level`` is the usual one; ``when`` says in which cases it is another. ``old`` and ``new`` are
    the example: what changes from one version to the next (the same text where nothing has to change). ``failure``
    marks what leaves a check undecided instead of being a finding of one.
    """

    id: str
    name: str
    level: Level
    summary: str
    why: str
    old: str
    new: str
    fix: str
    when: str = ""
    failure: bool = False

    @property
    def level_text(self) -> str:
        """The level as the catalogue's table shows it."""
        return "failure" if self.failure else self.level.value
