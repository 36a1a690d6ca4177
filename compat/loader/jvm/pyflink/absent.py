"""Stand-ins for modules that are not installed together with PyFlink, and that only functions use when the job runs.

A file that imports one may only call its names, or use them in annotations. A call is refused even if the program catches the
error, and nothing else shows what the names are. So a job that is built does not depend on them. This file implements the
functions of ``dotenv``. It runs in the user's interpreter: it imports only the standard library, in the syntax of Python 3.8.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import os
import sys
import types
import typing

_LOOKS_INTO = frozenset({"globals", "locals", "vars", "eval", "exec", "dir"})
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_NEVER = ("pyflink", "py4j", "apache_beam", "compat")


class NotInstalled(BaseException):
    """Building the job calls something that is not installed; no ``except Exception`` of the program catches it."""


class Absent(types.ModuleType):
    """Stands for a module: its names are classes that cannot be called."""

    def __init__(self, name: str, finder: Finder) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._compat_finder = finder

    def __getattr__(self, name: str) -> typing.Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._compat_finder.value(self.__name__, name)

    def __reduce__(self) -> typing.Any:
        return importlib.import_module, (self.__name__,)


class Finder:
    """Finds stand-ins for modules that nothing else has; it comes last.

    ``where`` gives the program's current line, ``served`` the functions of ``dotenv`` for a file that calls them. ``names`` are
    the modules with stand-ins, ``refused`` is the first refused call.
    """

    def __init__(self, where: typing.Any, served: typing.Any) -> None:
        self._where = where
        self._served = served
        self._values: dict[str, typing.Any] = {}
        self.names: dict[str, None] = {}
        self.refused: ModuleNotFoundError | None = None

    def find_spec(self, name: str, path: typing.Any = None, target: typing.Any = None) -> typing.Any:
        """The spec of a stand-in; None for imports that have to fail as usual."""
        top = name.partition(".")[0]
        if top in getattr(sys, "stdlib_module_names", ()) or top in _NEVER:
            return None
        if "." in name and not isinstance(sys.modules.get(name.rpartition(".")[0]), Absent):
            return None
        files = self._importers(sys._getframe(1))
        if not files or not all(_may_fail_nowhere(*one) for one in files) or not _only_calls(files[0][0], top):
            return None
        if top != self._served.MODULE:
            self.names[top] = None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: typing.Any) -> types.ModuleType:
        """The stand-in."""
        return Absent(spec.name, self)

    def exec_module(self, module: types.ModuleType) -> None:
        """Does nothing: the module is empty."""

    def value(self, module: str, name: str) -> typing.Any:
        """The stand-in for a name of a module."""
        if module != self._served.MODULE or name not in self._served.functions(""):
            return self._refusing(module, name)

        def called(*given: typing.Any, **named: typing.Any) -> typing.Any:
            try:
                return self._served.functions(sys._getframe(1).f_code.co_filename)[name](*given, **named)
            except (self._served.NotPlain, OSError, UnicodeDecodeError):
                raise self._refusal(module, name) from None

        return called

    def _refusing(self, module: str, name: str) -> typing.Any:
        """The stand-in for a value of a module, the same each time: it has attributes, and refuses to be called."""
        finder = self
        if (known := self._values.get(f"{module}:{name}")) is not None:
            return known

        class Refused(Exception):
            def __new__(cls, *_: typing.Any, **__: typing.Any) -> typing.Any:
                raise finder._refusal(module, name)

        class OfClass(type):
            def __getattr__(cls, attribute: str) -> typing.Any:
                if attribute.startswith("__"):
                    raise AttributeError(attribute)
                return finder._refusing(module, f"{name}.{attribute}")

            def __getitem__(cls, _: typing.Any) -> typing.Any:
                return cls

        made = OfClass(name.rpartition(".")[2], (Refused,), {"__module__": module, "__qualname__": name})
        self._values[f"{module}:{name}"] = made
        return made

    def _refusal(self, module: str, name: str) -> NotInstalled:
        """The refusal of a call, which is kept."""
        top = module.partition(".")[0]
        line = (self._where.frame(sys._getframe(1)) or {}).get("line", 0)
        said = f"Building the job calls {module}.{name} at line {line}, and the module {top!r} is not installed."
        self.refused = self.refused or ModuleNotFoundError(said, name=top)
        return NotInstalled(said)

    def instead_of(self, error: BaseException) -> BaseException:
        """The first refusal in place of an exception that it became, with the lines that led there."""
        if not isinstance(error, NotInstalled) or self.refused is None:
            return error
        return self.refused.with_traceback(error.__traceback__)

    def opening(self, describe: typing.Callable[[], dict[str, typing.Any]]) -> dict[str, typing.Any]:
        """The description of a function that is opened meanwhile: its states are not known where a call was refused."""
        before, self.refused = self.refused, None
        try:
            told = describe()
        except NotInstalled:
            told = {"name": ""}
        refused, self.refused = self.refused, before
        return told if refused is None else {**told, "states": [], "unknown": f"open() failed: {refused}"}

    def _importers(self, frame: typing.Any) -> list[tuple[str, int]]:
        """The lines of the program that wait for an import, innermost first; none if it is no file of it that imports."""
        found: list[tuple[str, int]] = []
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith("<frozen"):
                theirs = self._where.is_foreign(file) or any(one in file for one in _INSTALLED)
                if not found and theirs:
                    return []
                if not theirs:
                    found.append((file, frame.f_lineno))
            frame = frame.f_back
        return found


def _tree(file: str) -> ast.Module | None:
    try:
        with open(file, "rb") as opened:
            return ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _may_fail_nowhere(file: str, line: int) -> bool:
    """Whether a failure at a line would end the program's file: it does not say itself what is to be then."""
    tree = _tree(file)
    return (
        tree is not None
        and not any(
            isinstance(node, ast.Try) and _is_within(node.body, line) and any(map(_takes_import_errors, node.handlers))
            for node in ast.walk(tree)
        )
        and not any(
            isinstance(node, (ast.With, ast.AsyncWith)) and _is_within(node.body, line) for node in ast.walk(tree)
        )
    )


def _is_within(body: list[ast.stmt], line: int) -> bool:
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in body)


def _takes_import_errors(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & _IMPORT_ERRORS)


def _only_calls(file: str, top: str) -> bool:
    """Whether a file does nothing with the names of a module but call them, and have them in annotations and except clauses."""
    tree = _tree(file)
    if tree is None:
        return False
    names = set(_bound(tree, top))
    if not names or "*" in names:
        return False
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    loaded = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if any(node.id in _LOOKS_INTO for node in loaded):
        return False
    return all(_is_plain(node, parents) for node in loaded if node.id in names)


def _bound(tree: ast.Module, top: str) -> typing.Iterator[str]:
    """The names that imports of a module, or of what is in it, give values to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.partition(".")[0] == top:
                    yield one.asname or top
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == top:
            for one in node.names:
                yield one.asname or one.name


def _is_plain(name: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a name is called, or an attribute of it, or stands in an annotation, or is what a function catches."""
    if not isinstance(name.ctx, ast.Load):
        return False
    node: ast.AST = name
    while isinstance(parents[node], ast.Attribute):
        node = parents[node]
        if not isinstance(typing.cast("ast.Attribute", node).ctx, ast.Load):
            return False
    parent = parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return True
    while isinstance(parent, (ast.Subscript, ast.Tuple, ast.BinOp, ast.Attribute)):
        node, parent = parent, parents[parent]
    if isinstance(parent, ast.arg) or (isinstance(parent, ast.AnnAssign) and parent.annotation is node):
        return True
    if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent.returns is node:
        return True
    return isinstance(parent, ast.ExceptHandler) and parent.type is node and _is_in_function(parent, parents)


def _is_in_function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node in parents:
        node = parents[node]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return True
    return False
