"""A program may have modules of its own that are called like our packages; both must be found by those who mean them."""

from __future__ import annotations

import builtins
import os
import sys
from types import ModuleType
from typing import Any

_OUR_NAMES = ("compat", "compiler", "state")
_OUR_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OUR_FOLDERS = tuple(os.path.join(_OUR_ROOT, name) + os.sep for name in _OUR_NAMES)


def keep_apart(folder: str) -> bool:
    """Let files outside our packages import the modules in ``folder`` that bear our packages' names; False if none does."""
    theirs = [name for name in _OUR_NAMES if _is_module(os.path.join(folder, name))]
    if not theirs or os.path.abspath(folder) == _OUR_ROOT:
        return False
    builtins.__import__ = _Importer(tuple(theirs))
    return True


def _is_module(path: str) -> bool:
    return os.path.isfile(path + ".py") or os.path.isdir(path)


class _Importer:
    """An ``__import__`` that, for the program's own files, puts its modules in the place of ours while it works."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._import = builtins.__import__
        self._theirs: dict[str, ModuleType] = {}

    def __call__(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        root = name.partition(".")[0]
        caller = str((globals or {}).get("__file__") or "")
        package = str((globals or {}).get("__package__") or "").partition(".")[0]
        wanted = root if level == 0 else package
        if wanted not in self._names or caller.startswith(_OUR_FOLDERS) or not caller:
            return self._import(name, globals, locals, fromlist, level)
        ours = self._swap_in(wanted)
        try:
            return self._import(name, globals, locals, fromlist, level)
        finally:
            self._swap_out(wanted, ours)

    def _swap_in(self, root: str) -> dict[str, ModuleType]:
        ours = {name: sys.modules.pop(name) for name in _below(root)}
        sys.modules.update({name: module for name, module in self._theirs.items() if _is_below(name, root)})
        return ours

    def _swap_out(self, root: str, ours: dict[str, ModuleType]) -> None:
        self._theirs.update({name: sys.modules.pop(name) for name in _below(root)})
        sys.modules.update(ours)


def _below(root: str) -> list[str]:
    return [name for name in sys.modules if _is_below(name, root)]


def _is_below(name: str, root: str) -> bool:
    return name == root or name.startswith(root + ".")
