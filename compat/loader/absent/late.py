"""A watch that begins with the first missing module that the program imports: most programs need none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from compat.loader import env_file
from compat.loader.absent.importing import importers_in_program
from compat.loader.absent.table import TABLE_API
from compat.loader.absent.values import NotInstalled

if TYPE_CHECKING:
    from compat.loader.absent.watch import Watch


class LateWatch:
    """Takes the place of :class:`compat.loader.absent.watch.Watch` until that is needed."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self._show = show
        self._watch: Watch | None = None

    @property
    def refusals(self) -> Sequence[NotInstalled]:
        """The refused uses, in order."""
        return () if self._watch is None else self._watch.refusals

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules with stand-ins that could be installed, except the one whose functions are provided here."""
        served = (TABLE_API, env_file.MODULE)
        return () if self._watch is None else tuple(one for one in self._watch.modules if one not in served)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a stand-in for a missing module that a statement of the program imports; None for any other."""
        if self._watch is None:
            if not importers_in_program(name, sys._getframe(1)):
                return None
            from compat.loader.absent.watch import Watch

            self._watch = Watch(self._show)
        return self._watch.find_spec(name, path, target)

    def opening(self, open_: Callable[[], object]) -> None:
        """Call a function's opening method. Raises ModuleNotFoundError if it uses a missing module, even if it catches
        the error.
        """
        before = len(self.refusals)
        refused: list[NotInstalled] = []
        try:
            open_()
        except NotInstalled:
            pass
        finally:
            if self._watch is not None:
                refused = self._watch.taken(before)
        if refused:
            raise ModuleNotFoundError(str(refused[0]), name=refused[0].module)
