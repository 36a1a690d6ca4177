"""A watch that begins with the first module that the program imports and that is not found: most programs need none."""

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
    """Stands where :class:`compat.loader.absent.watch.Watch` would, until that is needed."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self._show = show
        self._watch: Watch | None = None

    @property
    def refusals(self) -> Sequence[NotInstalled]:
        """The uses that were refused, in order."""
        return () if self._watch is None else self._watch.refusals

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that stand-ins are for and that could be installed, but for the one whose functions are done here."""
        served = (TABLE_API, env_file.MODULE)
        return () if self._watch is None else tuple(one for one in self._watch.modules if one not in served)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a stand-in for a module that a statement of the program imports, if no other is there; else None."""
        if self._watch is None:
            if not importers_in_program(name, sys._getframe(1)):
                return None
            from compat.loader.absent.watch import Watch

            self._watch = Watch(self._show)
        return self._watch.find_spec(name, path, target)

    def opening(self, open_: Callable[[], object]) -> None:
        """Call what opens a function. Raises ModuleNotFoundError if it uses what is not installed, whatever it caught."""
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
