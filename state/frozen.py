"""Frozen records with named fields: what ``@dataclass(frozen=True, kw_only=True)`` gives, made without generated code.

A child process that loads one program lives for a tenth of a second, and half of that went into compiling the methods of
data classes. The functions of :mod:`dataclasses` (``replace``, ``fields``, ``asdict``) take these records as their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T]) -> type[T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T] | None = None, *, kw_only: bool = True) -> type[T] | Callable[[type[T]], type[T]]:
    """Make ``cls`` a frozen record of its annotated fields and those of its bases.

    Fields are given by name, or also by place with ``kw_only=False``; a method ``__post_init__`` may refuse them.
    """

    def make(cls: type[T]) -> type[T]:
        return _made(cls, _init if kw_only else _init_by_place)

    return make if cls is None else make(cls)


def _made(cls: type[T], init: Callable[..., None]) -> type[T]:
    fields: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(getattr(base, "__dataclass_fields__", {}))
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063
        if not str(annotation).startswith("ClassVar"):
            fields[name] = _field(cls, name, annotation)
    methods: dict[str, Any] = {
        "__dataclass_fields__": fields,
        "_defaults": {name: field.default for name, field in fields.items() if field.default is not MISSING},
        "_factories": tuple(
            (name, field.default_factory) for name, field in fields.items() if field.default_factory is not MISSING
        ),
        "_checks": hasattr(cls, "__post_init__"),
        "_compared": tuple(name for name, field in fields.items() if field.compare),
        "__init__": init,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__eq__": _equal,
        "__hash__": _hash,
        "__repr__": _repr,
    }
    for name, value in methods.items():
        setattr(cls, name, value)
    return cls


def _field(cls: type, name: str, annotation: Any) -> dataclasses.Field[Any]:
    given = cls.__dict__.get(name, MISSING)
    if isinstance(given, dataclasses.Field):
        field = given
        delattr(cls, name)
    else:
        field = dataclasses.field(default=given)
    field.name, field.type = name, annotation
    field._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
    field.kw_only = True
    return field


def _init(self: Any, **values: Any) -> None:
    known = self.__dataclass_fields__
    state = {**self._defaults, **values}
    for name, factory in self._factories:
        if name not in state:
            state[name] = factory()
    if len(state) != len(known) or not values.keys() <= known.keys():
        missing = [name for name in known if name not in state]
        unknown = [name for name in values if name not in known]
        raise TypeError(f"{type(self).__name__} misses {missing} and does not know {unknown}")
    self.__dict__.update(state)
    if self._checks:
        self.__post_init__()


def _init_by_place(self: Any, *places: Any, **values: Any) -> None:
    if places:
        names = list(self.__dataclass_fields__)[: len(places)]
        if len(names) < len(places) or not values.keys().isdisjoint(names):
            raise TypeError(f"{type(self).__name__} takes {len(self.__dataclass_fields__)} fields, each once")
        values.update(zip(names, places, strict=True))
    _init(self, **values)


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r} of a {type(self).__name__}")


def _values(self: Any) -> tuple[Any, ...]:
    state = self.__dict__
    return tuple(state[name] for name in self._compared)


def _equal(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__name__}({shown})"
