"""Stand-ins for a module that is not installed, and for everything in it.

They work in imports, class statements, decorators, type hints and except clauses, which do not need the real value.
Every other use needs it, and is refused.
"""

from __future__ import annotations

import functools
import sys
from abc import ABCMeta
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from compat.loader import env_file
from compat.loader.absent.table import TABLE_API, needs_planner, root_of


class NotInstalled(BaseException):
    """Building the job uses a value of a module that is not installed; no ``except Exception`` of the program takes it."""

    def __init__(self, module: str, what: str, use: str) -> None:
        lacks = f"{what}, {use}, and the module {module!r} is not installed."
        super().__init__(needs_planner(f"{what}, {use}: it") if module == TABLE_API else lacks)
        self.module = module
        self.what = what


class Policy:
    """The judge of uses: :class:`compat.loader.absent.watch.Watch` sets the answers."""

    refuse: Callable[[Any, str], NoReturn]
    is_shape: Callable[[], bool] = staticmethod(lambda: False)
    """Whether the current code shapes a class or a function: a decorator, or the body of a class derived from a stand-in."""
    is_typing: Callable[[], bool] = staticmethod(lambda: False)
    """Whether the module typing is asking."""
    is_programs: Callable[[], bool] = staticmethod(lambda: False)
    """Whether a line of the program itself is asking, not a library."""
    is_metaclass: Callable[[str], bool] = staticmethod(lambda _: False)


class AbsentModule(ModuleType):
    """Stands for a module; ``root`` is the one to install.

    ``asked_for_all`` says that ``import *`` looked for its names, which are unknown.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, "Stands for a module that is not installed.")
        self.asked_for_all = False
        self.__path__: list[str] = []
        self.absent_values: dict[str, AbsentType] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            self.asked_for_all |= name == "__all__"
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        values = vars(self)["absent_values"]
        if name not in values:
            values[name] = stand_in(self.__name__, name)
        if self.__name__ == env_file.MODULE and name in env_file.functions(""):
            return _of_variables(name, values[name])
        return values[name]


def _of_variables(name: str, stands: AbsentType) -> Callable[..., object]:
    """A function of ``dotenv``, which is refused where only the real one knows what it gives."""

    def called(*given: object, **named: object) -> object:
        try:
            return env_file.functions(sys._getframe(1).f_code.co_filename)[name](*given, **named)
        except (env_file.NotPlain, OSError, UnicodeDecodeError):
            return Policy.refuse(stands, "is called")

    return called


class AbsentType(ABCMeta):
    """The type of stand-ins for values, and of the classes that a program derives from them.

    A stand-in for a value is a class, as only a class can be derived from and compared with exceptions.
    """

    absent_module: str
    absent_values: dict[str, AbsentType]
    absent_itself: bool
    """Whether it stands for a value; else it is a class of the program."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any) -> AbsentType:
        """A class of the program that has a stand-in among its bases."""
        derived = [base for base in bases if isinstance(base, AbsentType)]
        try:
            made = ABCMeta.__new__(mcs, name, bases, namespace)
        except TypeError:  # as for one that is derived from dict too, which no exception can be
            made = ABCMeta.__new__(
                mcs, name, tuple(base for base in bases if not isinstance(base, AbsentType)), namespace
            )
        made.absent_module = derived[0].absent_module if derived else ""
        made.absent_values = {}
        made.absent_itself = False
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any) -> None:
        ABCMeta.__init__(cls, name, bases, namespace)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__qualname__!r} has no attribute {name!r}")
        values = cls.__dict__["absent_values"]
        if name not in values:
            values[name] = _made(cls.absent_module, cls.__module__, f"{cls.__qualname__}.{name}")
        return values[name]

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if issubclass(cls, ABCMeta) and len(given) == 3 and isinstance(given[0], str):
            made = AbsentType(given[0], given[1], given[2])
            made.absent_module = vars(cls)["absent_module"]
            return made
        if not Policy.is_shape():
            Policy.refuse(cls, "is called")
        if (
            len(given) == 1
            and not named
            and isinstance(given[0], FunctionType | type | staticmethod | classmethod | Decorated)
        ):
            return Decorated(given[0], cls)
        return _made(cls.absent_module, cls.__module__, f"{cls.__qualname__}(…)")

    def __getitem__(cls, key: Any) -> Any:
        return _made(cls.absent_module, cls.__module__, f"{cls.__qualname__}[…]")

    def __or__(cls, other: Any) -> Any:
        return _made(cls.absent_module, cls.__module__, f"{cls.__qualname__} | …")

    __ror__ = __or__

    def __bool__(cls) -> bool:
        return Policy.is_typing() or Policy.refuse(cls, "is asked whether it is true")

    def __str__(cls) -> str:
        Policy.refuse(cls, "is made text")

    def __format__(cls, form: str) -> str:
        Policy.refuse(cls, "is made text")

    def __repr__(cls) -> str:
        return f"<{name_of(cls)}, which is not installed>"

    def __eq__(cls, other: object) -> bool:
        if cls is not other and Policy.is_programs():
            Policy.refuse(cls, "is compared")
        return cls is other

    def __hash__(cls) -> int:
        if Policy.is_programs():
            Policy.refuse(cls, "is looked up")
        return id(cls) >> 4


def _refusing(use: str) -> Callable[..., NoReturn]:
    def refused(self: Any, *_: Any) -> NoReturn:
        Policy.refuse(self, use)

    return refused


_USES = {
    "len": "is measured",
    "iter": "is iterated",
    "next": "is iterated",
    "contains": "is searched",
    **dict.fromkeys(("lt", "le", "gt", "ge"), "is compared"),
    **dict.fromkeys(("int", "float", "index", "complex", "round", "bytes", "fspath"), "is made a number or text"),
    **dict.fromkeys(("enter", "exit", "aenter", "aexit", "await", "aiter"), "is used as a context or awaited"),
    **dict.fromkeys(
        [
            prefix + name
            for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "xor", "lshift", "rshift")
            for prefix in ("", "r")
        ],
        "is calculated with",
    ),
    **dict.fromkeys(("neg", "pos", "abs", "invert"), "is calculated with"),
    **dict.fromkeys(("setitem", "delitem"), "is changed"),
}
for _name, _use in _USES.items():
    setattr(AbsentType, f"__{_name}__", _refusing(_use))


class Decorated:
    """A function or class of the program that a stand-in decorated: its present behaviour is unknown."""

    def __init__(self, wrapped: Any, by: Any) -> None:
        functools.update_wrapper(self, wrapped, updated=())
        self.__wrapped__ = wrapped
        self.absent_module: str = by.absent_module
        self.absent_by: str = name_of(by)

    def __call__(self, *given: Any, **named: Any) -> Any:
        if Policy.is_shape():
            return Decorated(given[0], self) if len(given) == 1 and not named else self
        return Policy.refuse(self, "is called")

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (_made(self.absent_module, self.__module__, self.__qualname__),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self.__qualname__!r} has no attribute {name!r}")
        return _made(self.absent_module, self.__module__, f"{self.__qualname__}.{name}")


for _name, _use in {
    **_USES,
    "bool": "is asked whether it is true",
    "str": "is made text",
    "format": "is made text",
}.items():
    setattr(Decorated, f"__{_name}__", _refusing(_use))


def stand_in(module: str, name: str) -> AbsentType:
    """The stand-in for a name of a module that is not installed."""
    return _made(root_of(module), module, name)


def is_stand_in(value: Any) -> bool:
    """True for a stand-in, and for anything a program made of one: a derived class, a decorated function."""
    return issubclass(type(value), AbsentType | AbsentModule | Decorated)


def is_derived(value: Any) -> bool:
    """True for a class of the program that is derived from a stand-in, or has one as its metaclass."""
    return isinstance(value, AbsentType) and not vars(value)["absent_itself"]


def name_of(value: Any) -> str:
    """The name of a stand-in in the program."""
    if isinstance(value, AbsentModule):
        return value.__name__
    return f"{value.__module__}.{value.__qualname__}".removeprefix("__main__.")


def described(value: Any, attributes: Sequence[str] = ()) -> str:
    """A stand-in in words, with the attributes taken from it."""
    if isinstance(value, Decorated):
        return f"{name_of(value)}, which {value.absent_by} decorates"
    bases = [base for base in getattr(value, "__bases__", ()) if isinstance(base, AbsentType) and base is not Absent]
    if bases:
        return f"{name_of(value)}, which is derived from {name_of(bases[0])}"
    if is_derived(value):
        return f"{name_of(value)}, whose metaclass is of {module_of(value)}"
    return ".".join([name_of(value), *attributes])


def module_of(value: Any) -> str:
    """The module to install for a stand-in."""
    if isinstance(value, AbsentModule):
        return root_of(value.__name__)
    return str(value.absent_module)


def _made(root: str, module: str, qualname: str) -> AbsentType:
    base: type = ABCMeta if Policy.is_metaclass(qualname.rpartition(".")[2]) else Absent
    namespace = {"__module__": module, "__qualname__": qualname}
    made = ABCMeta.__new__(AbsentType, qualname, (base,), namespace)
    made.absent_module = root
    made.absent_values = {}
    made.absent_itself = True
    return made


Absent = ABCMeta.__new__(AbsentType, "Absent", (Exception,), {"__module__": __name__})
Absent.absent_module = ""
Absent.absent_values = {}
Absent.absent_itself = True
