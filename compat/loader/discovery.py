"""Finds the jobs of a project whose settings name none: programs that create an execution environment, directly or by
imports.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from compat.loader.revisions import git
from compat.loader.scripts import is_program

_MAKES = (b"get_execution_environment", b"TableEnvironment")
_NOT_DEPLOYED = frozenset({"test", "tests", "site-packages", "node_modules"})


class Sources:
    """The Python files of a working tree that git tracks or would track, relative to its root ``top``, without tests."""

    def __init__(self, top: str) -> None:
        listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py", cwd=top)
        self._texts: dict[str, bytes] = {}
        self._named: dict[str, list[str]] = {}
        for path in sorted({os.fsdecode(one) for one in listed.split(b"\0") if one}):
            if may_be_deployed(path) and os.path.isfile(file := Path(top, path)):
                self._texts[path] = file.read_bytes()
                self._named.setdefault(_module(path), []).append(path)

    def jobs(self) -> list[str]:
        """The files that are jobs."""
        return [path for path, text in self._texts.items() if self.makes_job(text)]

    def makes_job(self, text: bytes) -> bool:
        """Whether a file is a program that creates an execution environment, directly or by its imports."""
        if not is_program(text):
            return False
        seen: set[str] = set()
        waiting = [text]
        while waiting:
            one = waiting.pop()
            if any(name in one for name in _MAKES):
                return True
            found = set(self._imported(one)) - seen
            seen |= found
            waiting += [self._texts[path] for path in found]
        return False

    def reaches(self, path: str, wanted: Collection[str]) -> bool:
        """Whether a file is one of ``wanted``, or may import one."""
        seen, waiting = {path}, [path]
        while waiting:
            one = waiting.pop()
            if one in wanted:
                return True
            found = set(self._imported(self._texts.get(one, b""))) - seen
            seen |= found
            waiting += found
        return False

    def _imported(self, text: bytes) -> Iterator[str]:
        """The files of the project that may be meant by the imports of a file, in whatever folder they are."""
        for name in _imports(text):
            ending = name.replace(".", "/")
            for path in self._named.get(name.rpartition(".")[2], ()):
                if f"/{path}".endswith((f"/{ending}.py", f"/{ending}/__init__.py")):
                    yield path


def may_be_deployed(path: str) -> bool:
    """Whether a file may be a job, by its name: tests are not."""
    file = PurePosixPath(path)
    return _NOT_DEPLOYED.isdisjoint(file.parts) and not file.name.startswith("test_") and file.name != "conftest.py"


def _module(path: str) -> str:
    file = PurePosixPath(path)
    return file.parent.name if file.stem == "__init__" else file.stem


def _imports(source: bytes) -> Iterator[str]:
    """The names of the modules that a file imports, and of what may be modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from filter(None, [module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)])
