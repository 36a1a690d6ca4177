"""A line of the table."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tests.compat.savepoint.golden import SAVEPOINTS, saved

OK, MIGRATES, BROKEN, UNKNOWN = "compatible", "compatible-with-migration", "incompatible", "unknown"

DAYS = "it takes days to show: windows that were open at the savepoint end by a timer"

ROW_AB = 'Types.ROW_NAMED(["a", "b"], [L, L])', "Row(a=value, b=value + 1)"
ROW_ABC = 'Types.ROW_NAMED(["a", "b", "c"], [L, L, S])', 'Row(a=value, b=value + 1, c="c")'
ROW_BA = 'Types.ROW_NAMED(["b", "a"], [L, L])', "Row(b=value + 1, a=value)"


class Topology(Struct, frozen=True):
    """A topology file: what PyFlink cannot say."""

    text: str


class Saved(Struct, frozen=True):
    """A savepoint that Flink wrote, of those in ``tests/golden/savepoints``: cut after some bytes, or without a file."""

    name: str
    cut: int | None = None
    without: str | None = None

    def put(self, folder: Path) -> Path:
        """Copy it below a folder; gives where it is."""
        where = Path(saved(self.name)["folder"])
        shutil.copytree(SAVEPOINTS / where.parts[0], folder / where.parts[0])
        path = folder / where
        if self.cut is not None:
            (path / "_metadata").write_bytes((path / "_metadata").read_bytes()[: self.cut])
        if self.without is not None:
            (path / self.without).unlink()
        return path


Side = str | Topology | Saved


class Pair(Struct, frozen=True):
    """Two versions, the verdict and the rules that speak up above the level of a note.

    ``unrecorded`` is why no real restore is recorded in ``restores.json``; empty where one is. ``flink`` and ``old_flink``,
    ``definitions`` (``-D``), ``names`` (``--names``, the text of a program) and ``timeout`` are options of the check.
    """

    name: str
    old: Side
    new: Side
    verdict: str
    rules: frozenset[str] = frozenset()
    unrecorded: str = ""
    flink: str = "2.3"
    old_flink: str | None = None
    definitions: Mapping[str, str] = field(default_factory=dict)
    names: str | None = None
    timeout: float = 30.0
    whole: bool = False
    """Whether the pair needs all of a check: a second build, comments in the source."""

    @property
    def plain(self) -> bool:
        """Whether both are programs and no option matters, so that they can be loaded with others."""
        options = self.whole or self.definitions or self.names or self.flink != "2.3" or self.old_flink
        return isinstance(self.old, str) and isinstance(self.new, str) and not options

    @property
    def lines(self) -> list[str | None]:
        """All that makes the pair, to see how little two pairs differ."""
        options = [self.flink, self.old_flink, *map(str, self.definitions.items()), self.names]
        return [*text_of(self.old).splitlines(), "", *text_of(self.new).splitlines(), "", *options]

    @property
    def digest(self) -> str:
        """The digest that ties a record to these very programs."""
        options = f"\0{sorted(self.definitions.items())}" if self.definitions else ""
        return hashlib.sha256(f"{text_of(self.old)}\0{text_of(self.new)}{options}".encode()).hexdigest()[:16]


def text_of(side: Side) -> str:
    """A program or topology, or what a savepoint is."""
    if isinstance(side, Saved):
        return "\n".join(map(str, (side.name, f"cut: {side.cut}", f"without: {side.without}")))
    return side.text if isinstance(side, Topology) else side


def pair(name: str, old: Side, new: Side, verdict: str, *rules: str, unrecorded: str = "") -> Pair:
    """A pair in a line."""
    return Pair(name, old, new, verdict, frozenset(rules), unrecorded)


def under(given: Pair, **options: object) -> Pair:
    """The pair with some options of the check."""
    return replace(given, **options)  # type: ignore[arg-type]
