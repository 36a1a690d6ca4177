"""Watches a program while it is built: it must not use a value of a module that is not installed.

A stand-in refuses most uses by itself, but does not notice when it is passed on, or tested (``x is None``,
``isinstance(x, str)``). So each line of the program is examined before it runs: if it loads a stand-in for more than
the shape of a class, a function or a type, the program ends there.
"""

from __future__ import annotations

import builtins
import inspect
import os
import sys
import threading
import typing
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from msgspec import Struct

from compat.compiler.errors import NeedsPyFlink
from compat.compiler.own_code import is_library, is_machinery
from compat.loader.absent.importing import importers_in_program, is_programs_file
from compat.loader.absent.sources import Load, Use, source_of
from compat.loader.absent.table import TABLE_API, needs_planner, root_of
from compat.loader.absent.values import (
    AbsentModule,
    AbsentType,
    NotInstalled,
    Policy,
    described,
    is_derived,
    is_stand_in,
    module_of,
)

_NAMES_OF = (globals, locals, eval, exec)
_Tracing = Callable[[FrameType, str, Any], Any]


class _Code(Struct, frozen=True, kw_only=True):
    """A code object of the program: what its lines load, and whether it may be the body of a class."""

    code: CodeType
    loads: Mapping[int, list[Load]]
    is_class: bool


class Watch:
    """Makes stand-ins for the modules that a program imports and that are not installed, and watches what it does with them.

    ``show`` gives the displayed name of a file. ``refusals`` are the refused uses, ``modules`` the modules with stand-ins.
    """

    def __init__(self, show: Callable[[str], str]) -> None:
        self.refusals: list[NotInstalled] = []
        self.modules: dict[str, None] = {}
        self._show = show
        self._codes: dict[int, _Code | None] = {}
        self._watching = False
        self._metaclasses: set[str] = set()
        Policy.refuse = self._refuse
        Policy.is_shape = self._is_shape
        Policy.is_typing = self._is_typing
        Policy.is_programs = self._is_programs
        Policy.is_metaclass = lambda name: name in self._metaclasses

    # Imports

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a stand-in for a module that a statement of the program imports, if no other is there; else None."""
        frames = importers_in_program(name, sys._getframe(1))
        if not frames or not self._may_stand_in(name) or not _is_statement(frames[0]):
            return None
        for frame in frames:
            path = frame.f_code.co_filename
            source = source_of(path) if is_programs_file(path) else None
            if source is not None and source.guarded(frame.f_lineno):
                return None
        if source_of(frames[0].f_code.co_filename) is None:
            return None
        self._begin()
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in."""
        self.modules[root_of(spec.name)] = None
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: the module is empty."""

    def _may_stand_in(self, name: str) -> bool:
        """Whether a module is one of those that packages bring; a part that a package lacks is an error of the program."""
        parent, _, _ = name.rpartition(".")
        if not parent or name == TABLE_API:
            return True
        package = sys.modules.get(parent)
        if isinstance(package, AbsentModule):
            return True
        folders = list(getattr(package, "__path__", ()))
        is_namespace = package is not None and getattr(package, "__file__", None) is None
        return is_namespace and bool(folders) and all(is_library(folder + os.sep) for folder in folders)

    def _begin(self) -> None:
        """Watch from now on, also what is being run already."""
        if self._watching:
            return
        self._watching = True
        self._hide()
        self._resume()

    def _resume(self) -> None:
        """An exception in the watch itself, as a refusal is one, ends it for Python: watch again."""
        if not self._watching:
            return
        sys.settrace(self._called)
        threading.settrace(self._called)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            self._trace(frame)
            frame = frame.f_back

    def _hide(self) -> None:
        """Let only the program find stand-ins: what is installed looks for modules to know what it may use."""
        original = builtins.__import__

        def import_(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            asked = (name, *(f"{name}.{one}" for one in fromlist or ())) if level == 0 else ()
            hidden = next((one for one in asked if root_of(one) in self.modules), None)
            if hidden is not None:
                file = (globals or {}).get("__file__")
                if not isinstance(file, str) or not is_programs_file(file):
                    if root_of(hidden) == TABLE_API:
                        raise NeedsPyFlink(needs_planner(hidden))
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return original(name, globals, locals, fromlist or (), level)

        builtins.__import__ = import_

    # Uses

    def taken(self, begin: int) -> list[NotInstalled]:
        """The refusals from a number on, which then count as reported; later uses are still watched."""
        refused = self.refusals[begin:]
        del self.refusals[begin:]
        if refused:
            self._resume()
        return refused

    def _called(self, frame: FrameType, event: str, arg: Any) -> _Tracing | None:
        return self._trace(frame)

    def _trace(self, frame: FrameType) -> _Tracing | None:
        code = self._code(frame.f_code)
        if code is None:
            return None
        frame.f_trace = self._line
        return self._line

    def _code(self, code: CodeType) -> _Code | None:
        """What is known of a code object; None for one that is not the program's, or loads nothing."""
        if id(code) in self._codes:
            return self._codes[id(code)]
        source = source_of(code.co_filename) if is_programs_file(code.co_filename) else None
        known = None
        if source is not None:
            self._metaclasses |= source.metaclasses
            loads, is_class = source.loads(code), bool(source.class_of(code))
            if loads or is_class:
                known = _Code(code=code, loads=loads, is_class=is_class)
        self._codes[id(code)] = known
        return known

    def _line(self, frame: FrameType, event: str, arg: Any) -> _Tracing:
        if event == "line":
            code = self._code(frame.f_code)
            for load in code.loads.get(frame.f_lineno, ()) if code is not None else ():
                try:
                    value, rest = _value(frame, load.name, load.attributes)
                    if is_stand_in(value):
                        self._judge(frame, load, value, rest)
                    elif load.use is Use.VALUE and (held := _held(frame, value, load)) is not None:
                        raise self._note(held, "which may be taken out of what holds it here", frame)
                except Exception as error:  # whatever goes wrong here must not let anything pass
                    self.refusals.append(
                        NotInstalled(load.name, f"{type(error).__name__}: {error}", "while it was watched")
                    )
                    raise self.refusals[-1] from error
        return self._line

    def _judge(self, frame: FrameType, load: Load, value: Any, rest: Sequence[str]) -> None:
        """Refuse what a line is about to do with a stand-in, unless that needs no more than that there is one."""
        taker = _value(frame, load.taker[0], load.taker[1:])[0] if load.taker else None
        is_own = is_derived(value) and bool(
            rest
        )  # then it is a value of the program's that a stand-in may have changed
        match load.use:
            case Use.HINT:
                return
            case Use.ALIAS if not is_own:
                return
            case Use.SHAPE if not is_own and (not load.taker or is_stand_in(taker) or _is_typing(taker)):
                return
            case Use.TYPE if not is_own and _is_typing(taker):
                return
            case Use.FIELD if self._is_body(frame):
                return
            case Use.EXCEPT:
                error = sys.exc_info()[1]
                if error is not None and not isinstance(error, NotInstalled):
                    self._note(value, f"which {type(error).__name__} is compared with", frame, rest)
            case _:
                raise self._note(value, "which building the job uses", frame, rest)

    def _refuse(self, value: Any, use: str) -> NoReturn:
        raise self._note(value, f"which {use}", _asking())

    def _note(self, value: Any, use: str, frame: FrameType | None, rest: Sequence[str] = ()) -> NotInstalled:
        where = "" if frame is None else f"{self._show(frame.f_code.co_filename)}:{frame.f_lineno} has "
        refusal = NotInstalled(module_of(value), where + described(value, rest), use)
        self.refusals.append(refusal)
        return refusal

    def _is_programs(self) -> bool:
        """Whether it is a line of the program that asks, and neither the body of a class of a stand-in's nor a type hint."""
        frame = _asking()
        if frame is None or not is_programs_file(frame.f_code.co_filename) or self._is_body(frame):
            return False
        source = source_of(frame.f_code.co_filename)
        taker = () if source is None else source.subscripted(_position(frame))
        return not (taker and _is_typing(_value(frame, taker[0], taker[1:])[0]))

    def _is_typing(self) -> bool:
        """Whether the module typing asks, which may be told anything."""
        frame = _asking()
        return frame is not None and frame.f_code.co_filename == typing.__file__

    def _is_shape(self) -> bool:
        """Whether the innermost line of the program is in a decorator, or in the body of a class of a stand-in's."""
        frame = _asking()
        if frame is None or not is_programs_file(frame.f_code.co_filename):
            return False
        source = source_of(frame.f_code.co_filename)
        if source is None:
            return False
        return source.decorates(_position(frame)) or self._is_body(frame)

    def _is_body(self, frame: FrameType) -> bool:
        """Whether a frame is the body of a class that a stand-in is a base, a metaclass or a decorator of."""
        code = self._code(frame.f_code)
        source = source_of(frame.f_code.co_filename)
        if code is None or not code.is_class or source is None or frame.f_back is None:
            return False
        around = frame.f_back
        return any(
            is_stand_in(_value(around, one[0], one[1:])[0]) for names in source.class_of(frame.f_code) for one in names
        )


def _position(frame: FrameType) -> tuple[int | None, int | None, int | None, int | None]:
    """Where the code is that a frame runs: line, last line, column, last column."""
    return list(frame.f_code.co_positions())[frame.f_lasti // 2]


def _value(frame: FrameType, name: str, attributes: tuple[str, ...]) -> tuple[Any, Sequence[str]]:
    """The value that a name has on a frame, followed through modules until it is a stand-in, and the attributes behind it."""
    code = frame.f_code
    own = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    is_local = code.co_name != "<module>" and (not code.co_flags & inspect.CO_OPTIMIZED or name in own)
    local = frame.f_locals if is_local else {}
    value = local[name] if name in local else frame.f_globals.get(name, frame.f_builtins.get(name))
    for place, attribute in enumerate(attributes):
        if is_stand_in(value) or not isinstance(value, ModuleType):
            return value, attributes[place:]
        value = vars(value).get(attribute)
    return value, ()


def _held(frame: FrameType, value: Any, load: Load) -> Any:
    """A stand-in that may be taken, by a name that is not written there, out of what a line loads; None for none."""
    if isinstance(value, BuiltinFunctionType) and value in _NAMES_OF:
        scope = {**frame.f_globals, **frame.f_locals}
    elif isinstance(value, ModuleType) and not load.attributes and value is not frame.f_globals.get("__builtins__"):
        scope = vars(value)
    else:
        return None
    return next((one for one in scope.values() if is_stand_in(one)), None)


def _asking() -> FrameType | None:
    """The innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_typing(value: Any) -> bool:
    """True for what builds type hints of its arguments."""
    if isinstance(value, type) and issubclass(type(value), AbsentType):
        return True
    return getattr(value, "__module__", None) in ("typing", "collections.abc", "typing_extensions") or (
        value in (list, dict, set, frozenset, tuple, type) if isinstance(value, type) else value is typing
    )


def _is_statement(frame: FrameType) -> bool:
    """Whether a frame is at an import statement, and not at a call that imports."""
    import dis

    return any(
        instruction.offset == frame.f_lasti and instruction.opname == "IMPORT_NAME"
        for instruction in dis.get_instructions(frame.f_code)
    )
