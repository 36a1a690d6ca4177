"""What a function computes of a record, as an expression: it is called with a stand-in that writes down what is done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compat.state.types import TypeInformation
from compat.state.types.composite import RowTypeInfo, TupleTypeInfo


class Untraced(Exception):
    """The function asks of the stand-in what only a record has: whether it is true, how long it is, its number."""


class Term:
    """Stands for a value that is computed of a record; the text of each says how."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):
            raise AttributeError(name)
        return Term(f"{self._text}.{name}")

    def __getitem__(self, key: Any) -> Term:
        return Term(f"{self._text}[{text_of(key)}]")

    def __call__(self, *args: Any, **given: Any) -> Term:
        holder, _, name = self._text.rpartition(".")
        if name == "get" and holder and len(args) == 1 and not given:
            return Term(f"{holder}[{text_of(args[0])}]")  # of a dict: where the key is there, the same
        return Term(f"{self._text}({text_of(args)} {text_of(given)})")

    def __str__(self) -> str:
        return f"str<{self._text}>"

    def __repr__(self) -> str:
        return f"repr<{self._text}>"

    def __format__(self, spec: str) -> str:
        return f"format<{self._text} {spec}>"


class Fields(Term):
    """Stands for a tuple or a row: its fields are found by their places, a row's by their names as well."""

    __slots__ = ("_fields", "_names")

    def __init__(self, text: str, fields: Sequence[TypeInformation], names: Sequence[str]) -> None:
        super().__init__(text)
        self._names = tuple(names)
        self._fields = [term_of(type, f"{text}[{place}]") for place, type in enumerate(fields)]

    def __getattr__(self, name: str) -> Term:
        return self._fields[self._names.index(name)] if name in self._names else super().__getattr__(name)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key in self._names:
            return self._fields[self._names.index(key)]
        return self._fields[key] if isinstance(key, int | slice) else super().__getitem__(key)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def term_of(type: TypeInformation | None, text: str) -> Term:
    """The stand-in for a record of a type."""
    if isinstance(type, RowTypeInfo):
        return Fields(text, type.field_types, type.field_names)
    return Fields(text, type.field_types, ()) if isinstance(type, TupleTypeInfo) else Term(text)


def _operator(name: str) -> Callable[..., Term]:
    return lambda self, *others: Term(f"{name}({self._text} {text_of(others)})")


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise Untraced(name)

    return refuse


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul")
for _name in (*_BINARY, *(f"r{one}" for one in _BINARY), "neg", "pos", "abs", "invert", "divmod", "round"):
    setattr(Term, f"__{_name}__", _operator(_name))
for _name in ("bool", "len", "iter", "int", "float", "index", "hash", "contains", "bytes", "reversed"):
    setattr(Term, f"__{_name}__", _refuse(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Term, f"__{_name}__", _operator(_name))


def traced(function: Callable[[Any], Any], records: TypeInformation | None) -> str | None:
    """The expression that a function gives of a record, as text; None if it cannot be written down."""
    try:
        return text_of(function(term_of(records, "record")))
    except Exception:  # whatever the program's code does with what is no record
        return None


def text_of(value: Any) -> str:
    """A value in an expression; a term by what it stands for."""
    if isinstance(value, Term):
        return value._text
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(text_of, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{text_of(key)}: {text_of(one)}' for key, one in value.items())})"
    said = repr(value)
    if " at 0x" in said:
        raise Untraced(said)
    return said
