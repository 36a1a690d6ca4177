"""The code and the values that a Python function reaches in the program, as text that is equal for equal code.

Names of functions, parameters and variables have no say: what they stand for has. Code of libraries counts by its name.
"""

from __future__ import annotations

import dis
import enum
import functools
import re
import sys
from collections.abc import Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from compat.compiler.own_code import is_library, is_our_file, is_our_module
from compat.plan.methods import closure_of

_DEPTH = 8
_MOST = 400
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_UNNAMED = ("__call__", "__getitem__", "__getattr__", "__str__", "__format__", "__contains__", "__hash__", "__eq__")
"""Methods that code calls without their names."""
_SLOTS = (MemberDescriptorType, GetSetDescriptorType)
_PLAIN = (str, bytes, int, float, complex, bool, enum.Enum, type(None), type(Ellipsis))


class Reached:
    """What a function comes to: its ``text``, the ``constants`` in the code, and whether that ``branches``."""

    def __init__(self, function: Any) -> None:
        self.constants: set[str] = set()
        self.branches = False
        self._seen: dict[int, str] = {}
        self._holders: list[type] = []
        self._kept: list[Any] = []  # or another object could get the identity of one that was seen
        self.text = self._of(function, 0)

    def _of(self, value: Any, depth: int) -> str:
        """A value as text: functions by their code, objects of the program's classes by code and values."""
        if isinstance(value, _PLAIN):
            self.constants.add(repr(value))
            return repr(value)
        if id(value) in self._seen:
            return self._seen[id(value)]
        if depth > _DEPTH or len(self._seen) > _MOST:
            return type(value).__qualname__
        self._seen[id(value)] = f"again {len(self._seen)}"
        self._kept.append(value)
        found = self._text(value, depth + 1)
        self._seen[id(value)] = found
        return found

    def _text(self, value: Any, depth: int) -> str:
        if isinstance(value, FunctionType):
            return self._function(value, depth) if _is_own_code(value.__code__) else _named(value)
        if isinstance(value, MethodType):
            holder = self._of(value.__self__, depth)  # first: its class is where the code finds what it names
            return f"{self._of(value.__func__, depth)} of {holder}"
        if isinstance(value, functools.partial):
            given = self._of((value.func, value.args, value.keywords), depth)
            return f"partial {given}"
        if isinstance(value, Mapping):
            items = (f"{self._of(key, depth)}: {self._of(one, depth)}" for key, one in value.items())
            return f"{{{', '.join(sorted(items))}}}"
        if isinstance(value, list | tuple | set | frozenset):
            items = (self._of(one, depth) for one in value)
            return f"({', '.join(sorted(items) if isinstance(value, set | frozenset) else items)})"
        if isinstance(value, type):
            return self._members(value, depth) if is_own_module(value.__module__) else _named(value)
        if isinstance(value, ModuleType | BuiltinFunctionType):
            return _named(value)
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> str:
        """An object: with its attributes where its class is the program's, else by what it says of itself."""
        cls = type(value)
        if not is_own_module(cls.__module__):
            return f"{_named(cls)} {_ADDRESS.sub('', _said(value))}"
        held = [f"{name} {self._of(one, depth)}" for name, one in sorted(getattr(value, "__dict__", {}).items())]
        return f"{self._of(cls, depth)} {held}"

    def _members(self, cls: type, depth: int) -> str:
        """A class of the program: its members count where code names them, at once those that no code names."""
        if cls not in self._holders:
            self._holders.append(cls)
        unnamed = [f"{name} {self._of(one, depth)}" for name in _UNNAMED if (one := _member(cls, name)) is not None]
        return f"class {unnamed}"

    def _function(self, function: FunctionType, depth: int) -> str:
        self.branches = self.branches or _branches(function.__code__)
        around = {**function.__globals__, **closure_of(function)}
        given = self._of((function.__defaults__ or (), function.__kwdefaults__ or {}), depth)
        return f"{self._code(function.__code__, around, depth)} {given}"

    def _code(self, code: CodeType, around: Mapping[str, Any], depth: int) -> str:
        """A code object without lines and names of variables; a name from around counts by what it stands for."""
        modules = [around[name] for name in code.co_names if isinstance(around.get(name), ModuleType)]
        names = [self._name(name, around, modules, depth) for name in (*code.co_names, *code.co_freevars)]
        constants = []
        for one in code.co_consts[_is_documented(code) :]:
            constants.append(self._code(one, around, depth) if isinstance(one, CodeType) else self._of(one, depth))
        return f"{code.co_code.hex()} {names} {constants}"

    def _name(self, name: str, around: Mapping[str, Any], modules: list[ModuleType], depth: int) -> str:
        """What a name in code stands for: what is around, or a member of a module or class that was come to."""
        if name in around:
            return self._of(around[name], depth)
        held = [vars(one)[name] for one in modules if is_own_module(one.__name__) and name in vars(one)]
        held += [one for cls in self._holders if (one := _member(cls, name)) is not None]
        return f"{name} {[self._of(one, depth) for one in held]}" if held else name


def _member(cls: type, name: str) -> Any:
    """A function or value that a class of the program defines, or one above it; None if none does."""
    for owner in cls.__mro__:
        if is_own_module(owner.__module__) and name in vars(owner):
            member = vars(owner)[name]
            member = getattr(member, "__func__", getattr(member, "fget", member))
            generated = isinstance(member, FunctionType) and member.__code__.co_filename == "<string>"
            return None if generated or isinstance(member, _SLOTS) else member
    return None


def _branches(code: CodeType) -> bool:
    """Whether code decides anything: then two functions may differ where no sample leads."""
    inside = any(_branches(one) for one in code.co_consts if isinstance(one, CodeType))
    jumps = (one.opname for one in dis.get_instructions(code))
    return inside or bool(code.co_exceptiontable) or any("_IF_" in name or name == "FOR_ITER" for name in jumps)


def _is_documented(code: CodeType) -> bool:
    """Whether the first constant is what documents a function: the code does not load it."""
    if not code.co_consts or not isinstance(code.co_consts[0], str):
        return False
    loaded = (one.arg for one in dis.get_instructions(code) if one.opname in ("LOAD_CONST", "RETURN_CONST"))
    return 0 not in loaded


def _is_own_code(code: CodeType) -> bool:
    return not is_our_file(code.co_filename) and not is_library(code.co_filename)


def is_own_module(name: str) -> bool:
    """Whether a module is of the program."""
    if name == "__main__":
        return True
    path = getattr(sys.modules.get(name), "__file__", None)
    return path is not None and not is_our_module(name) and not is_library(path)


def _said(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # of an object that is not ready
        return ""


def _named(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
