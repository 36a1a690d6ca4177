"""What a program looks at of its project while it is built: modules, files, folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from compat.loader.request import Loads

_LISTED = ("os.listdir", "os.scandir")
_IMPORT = "<frozen importlib._bootstrap_external>"
"""The part of Python that lists folders to find modules: the names that it was asked for tell more."""

_SERVED = ("compat", "pyflink")
"""What is served here, and never the project's."""

_WRITES = os.O_WRONLY | os.O_RDWR


class Watched:
    """Looks on, from now until it is told to tell; Python calls it for each file that is opened, and each import.

    What is only asked for by name (``os.path.exists``), and what other processes read, is not seen.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._files: set[str] = set()
        self._names: set[str] = set()
        self._folders: set[str] = set()
        self._done = False
        sys.addaudithook(self._see)

    def told(self, program: str) -> Loads:
        """What was looked at; nothing more is seen."""
        self._done = True
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        files = [program, *self._files, *(file for file in modules if isinstance(file, str))]
        return Loads(
            files=self._below(file for file in files if not file.endswith(".pyc")),
            names=tuple(sorted(self._names - sys.stdlib_module_names)),
            folders=self._below(self._folders),
        )

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._done:
            return
        if event == "import":
            first, *rest = str(arguments[0]).split(".")
            if first not in _SERVED:
                self._names.update((first, *rest))
        elif event == "open" and isinstance(arguments[0], (str, bytes)):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if not flags & _WRITES:
                self._files.add(os.path.abspath(os.fsdecode(arguments[0])))
        elif event in _LISTED and sys._getframe(1).f_code.co_filename != _IMPORT:
            folder = arguments[0]
            if folder is None or isinstance(folder, (str, bytes)):
                self._folders.add(os.path.abspath(os.fsdecode(folder or ".")))

    def _below(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of ``paths`` that are in the project, from its root."""
        before = self._root + os.sep
        named = [os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in paths]
        both = {*named, *map(os.path.realpath, named)}  # a link and its target
        return tuple(sorted(path.removeprefix(before) for path in both if path.startswith(before)))
