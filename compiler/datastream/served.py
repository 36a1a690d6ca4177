"""PyFlink's modules as programs import them: the names that a version of PyFlink has, with our classes behind them.

The names of each version are recorded from the real packages; see ``tests/golden/pyflink_api``. A name that the program's
version lacks is refused as PyFlink refuses it, and classes carry the module that they have in PyFlink.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, TypeVar

from msgspec import Struct

from compat.compiler.datastream.beyond.noting import note
from compat.compiler.errors import NeedsPyFlink
from compat.compiler.own_code import PACKAGE
from compat.compiler.versions import FLINK_VERSIONS, LATEST_FLINK, pyflink_version

_OURS = "compat.compiler.datastream"
_ROOTS = {"pyflink.common": f"{_OURS}.common", "pyflink.datastream": _OURS, "pyflink.metrics": f"{_OURS}.metrics"}
_STATE = "compat.state."
_VALUES = frozenset({"compat.state.rows", "compat.state.time"})
"""Modules of the classes whose values are in the bytes of state, and of keys."""
_MODULES = ((f"{_OURS}.common", "pyflink.common"), (_OURS, "pyflink.datastream"))
_OUR_PATH = re.compile(rf" \({re.escape(PACKAGE)}[^()]*\)")
_INNER_MODULE = re.compile(r"(pyflink(?:\.\w+)*?)\._\w+")
_CALLED = re.compile(r"\b(\w+)\.(?=\w+\(\) )")
_RECORDS = os.path.join(os.path.dirname(__file__), "recorded")
ADDED = tuple(f"pyflink.datastream.connectors.{name}" for name in ("datagen", "delta", "socket"))
"""Modules that PyFlink lacks: connectors of jobs on Spark."""


class Names(Struct, frozen=True):
    """The public names of a module, each with the module that has it; and those that ``import *`` gives."""

    homes: Mapping[str, str]
    exported: Sequence[str]


@cache
def recorded(flink: str) -> Mapping[str, Names]:
    """The modules of ``pyflink.common`` and ``pyflink.datastream`` in a version of Flink, with their public names."""
    with open(os.path.join(_RECORDS, f"pyflink-{flink}.txt"), encoding="utf-8") as file:
        modules = file.read().removeprefix("module ").split("\nmodule ")
    return dict(map(_module_and_names, modules))


def _module_and_names(text: str) -> tuple[str, Names]:
    module, *lines = text.rstrip().split("\n  ")
    exported: list[str] | None = None
    homes: dict[str, str] = {}
    for line in lines:
        if line.startswith("all "):
            exported = line.split()[1:]
        elif line[0] != " ":
            name, _, value = line.removeprefix("class ").removeprefix("enum ").partition(" = ")
            known = name.partition("(")[0].partition(":")[0]
            homes[known] = value.rpartition(".")[0] if "." in value and value[0] not in "'-0123456789" else module
    return module, Names(homes, list(homes) if exported is None else exported)


def versions_with(module: str, name: str = "") -> list[str]:
    """The versions of Flink whose PyFlink has a module, or a name in it."""
    known = {flink: recorded(flink).get(module) for flink in FLINK_VERSIONS}
    return [flink for flink, names in known.items() if names is not None and (not name or name in names.homes)]


def versions_with_member(cls: str, name: str) -> list[str]:
    """The versions of Flink with a PyFlink in which a class of a program's API has a method or field of this name."""
    return [flink for flink in FLINK_VERSIONS if name in _members(flink).get(cls, ())]


def members_of(flink: str, cls: str) -> list[str]:
    """The members of a class of a program's API in a version of PyFlink, sorted; none for any other class."""
    return sorted(_members(flink).get(cls, ()))


@cache
def _members(flink: str) -> Mapping[str, frozenset[str]]:
    """The members of the classes in a version of PyFlink, by the class's name."""
    with open(os.path.join(_RECORDS, f"pyflink-{flink}.txt"), encoding="utf-8") as file:
        classes = re.split(r"\n  (?:class|enum) (?=\w)", file.read())[1:]
    found: dict[str, frozenset[str]] = {}
    for text in classes:
        name = re.match(r"\w+", text)
        assert name is not None
        found[name[0]] = found.get(name[0], frozenset()) | frozenset(re.findall(r"\n    (\w+)", text))
    return found


def homes_of(name: str) -> Mapping[str, str]:
    """The modules in which versions of PyFlink have a name, by version, including former ones."""
    found: dict[str, str] = {}
    for flink in FLINK_VERSIONS:
        homes = {names.homes[name] for names in recorded(flink).values() if name in names.homes}
        if homes:
            found[flink] = min(homes, key=len)
    return found


def ours(module: str) -> str:
    """The module of ours behind one of PyFlink's; for any other module, the module itself."""
    for root, behind in _ROOTS.items():
        if module == root or module.startswith(f"{root}."):
            return behind + module.removeprefix(root)
    return module


class Served(ModuleType):
    """A module of PyFlink in one version; ``names`` are None if it has all names of ours."""

    def __init__(self, name: str, names: Names | None) -> None:
        super().__init__(name, "Served by compat in place of PyFlink.")
        self._added = names is None
        self._known = names
        self._behind: ModuleType | None = None

    def _names(self) -> Names:
        if self._known is None:
            exported = import_module(ours(self.__name__)).__all__
            self._known = Names(dict.fromkeys(exported, self.__name__), exported)
        return self._known

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return list(self._names().exported)
        home = self._names().homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        if home != self.__name__:
            return getattr(import_module(home), name)
        if self._added:
            note(f"{home}.{name}", sys._getframe(1))
        if self._behind is None:
            self._behind = import_module(ours(home))
        try:
            return getattr(self._behind, name)
        except AttributeError:
            raise NeedsPyFlink(
                f"{home}.{name} is an inner part of PyFlink that compat does not have: only PyFlink itself builds "
                "programs that need it."
            ) from None

    def __dir__(self) -> list[str]:
        return [*self.__dict__, *self._names().homes]


def serve(flink: str = LATEST_FLINK) -> None:
    """Give this process PyFlink's modules of that version of Flink, in place of any earlier ones."""
    for name in [name for name in sys.modules if name == "pyflink" or name.startswith("pyflink.")]:
        del sys.modules[name]
    names = {**recorded(flink), **dict.fromkeys(ADDED)}
    made = {name: Served(name, of) for name, of in sorted(names.items())}
    root = ModuleType("pyflink", "Served by compat in place of PyFlink.")
    root.__file__ = os.path.join(sysconfig.get_path("purelib"), "pyflink", "__init__.py")  # programs tell where it is
    version = ModuleType("pyflink.version", root.__doc__)
    version.__version__ = root.__version__ = pyflink_version(flink)  # type: ignore[attr-defined]
    modules: dict[str, ModuleType] = {"pyflink": root, "pyflink.version": version, **made}
    sys.modules |= modules
    for name, module in modules.items():
        module.__spec__ = ModuleSpec(name, None)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
            sys.modules[parent].__path__ = []
    if _Namer not in map(type, sys.meta_path):
        sys.meta_path.insert(0, _Namer())
    for name in [name for name in sys.modules if name.startswith(_OURS)]:
        _name_classes(sys.modules[name])


def served() -> None:
    """Ensure that this process has PyFlink's modules, of any version: objects travel between processes by their names."""
    if not isinstance(sys.modules.get("pyflink.datastream"), Served):
        serve()


def in_programs_words(error: BaseException, message: str) -> str:
    """Python's text of an error with the names that a program knows: PyFlink's modules, without compat's own."""
    message = _OUR_PATH.sub("", message)
    for behind, module in _MODULES:
        message = message.replace(behind, module)
    message = _INNER_MODULE.sub(r"\1", message)
    return _without_inner_classes(message) if isinstance(error, TypeError) else message


def _without_inner_classes(message: str) -> str:
    """What is said of a wrong call: of a method of a class that only we have, the method's name alone."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{_OURS}.")]
    inner = {
        name
        for module in modules
        for name, value in list(vars(module).items())
        if isinstance(value, type) and value.__module__.startswith(_OURS)
    }
    return _CALLED.sub(lambda found: "" if found[1] in inner else found[0], message)


class _Namer:
    """Lets our modules that are imported later have PyFlink's names for their classes, too."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{_OURS}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _NamingLoader(spec.loader.name, spec.loader.path)
        return spec


class _NamingLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _name_classes(module)


@cache
def _homes() -> Mapping[str, tuple[str, ...]]:
    """The modules of PyFlink that have a public name of their own, in any version."""
    found: dict[str, tuple[str, ...]] = {}
    for flink in FLINK_VERSIONS:
        for module, names in recorded(flink).items():
            for name, home in names.homes.items():
                if home == module and module not in found.get(name, ()):
                    found[name] = (*found.get(name, ()), module)
    return found


def _name_classes(module: ModuleType) -> None:
    """Tell the classes and functions that a module of ours defines which module of PyFlink they are found in."""
    for name, value in list(vars(module).items()):
        where, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        variable = isinstance(value, TypeVar) and where == module.__name__
        if variable or (qualified == name and (where == module.__name__ or _is_states(value))):
            homes = _homes().get(name, ())
            exact = [home for home in homes if ours(home) == module.__name__]
            for home in exact or homes[: 0 if variable else 1]:
                _rename(value, home)


def _is_states(value: Any) -> bool:
    """True for a class of ``compat.state`` that goes by PyFlink's name here.

    Enumerations and classes of values keep their own: it is in the bytes of state, and in the hash of keys.
    """
    if not isinstance(value, type) or issubclass(value, Enum):
        return False
    return value.__module__.startswith(_STATE) and value.__module__ not in _VALUES


def _rename(value: Any, home: str) -> None:
    value.__module__ = home
    if isinstance(value, type):
        for inner in vars(value).values():
            if isinstance(inner, type) and inner.__qualname__.startswith(f"{value.__qualname__}."):
                _rename(inner, home)
