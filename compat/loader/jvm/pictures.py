"""A value as text, field by field, to be compared with the value that another version of its class reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import jpype

from compat.loader.jvm.bridge import Java, constant_name, is_a, java
from compat.loader.jvm.made_up import instance_fields

_DEPTH, _MOST = 10, 400
_PLAIN = ("null", "0", "false", "true", "")
"""The contents of unfilled fields, which cannot distinguish fields."""


class Unlike(NamedTuple):
    """The fields that hold something else than before: ``moved`` what another one held, ``changed`` neither; ``gone`` are no
    longer there, and what they held is in no new field."""

    moved: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def fields_of(value: Java) -> dict[str, str]:
    """The contents of a value's fields, by path; a value without fields has only the empty path."""
    found: dict[str, str] = {}
    for path, text in _told(value, "", _DEPTH):
        found[path] = text
        if len(found) == _MOST:
            break
    return found


def unlike(before: Mapping[str, str], after: Mapping[str, str]) -> Unlike:
    """The differences of a value's fields from before. A differently named field with the same contents counts as equal."""
    others = {path: text for path, text in before.items() if path in after and after[path] != text}
    new = {text for path, text in after.items() if path not in before}
    held = {text for text in before.values() if text not in _PLAIN}
    return Unlike(
        moved=tuple(path for path in others if after[path] in held),
        changed=tuple(path for path in others if after[path] not in held),
        gone=tuple(
            path for path, text in before.items() if path not in after and text not in _PLAIN and text not in new
        ),
    )


def _told(value: Java, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if value is None or depth == 0:
        yield path, "null"
    elif (text := _text(value)) is not None:
        yield path, text
    elif (inner := _parts(value)) is not None:
        yield f"{path}#", str(len(inner))
        for name, part in inner:
            yield from _told(part, f"{path}[{name}]", depth - 1)
    else:
        for name, part in _fields(value):
            yield from _told(part, f"{path}.{name}" if path else name, depth - 1)


def _text(value: Java) -> str | None:
    """A plain value; None for one that is made of others."""
    if isinstance(value, (java("java.lang.Float"), java("java.lang.Double"))):
        number = float(value)
        return str(int(number)) if number.is_integer() else str(number)
    plain = ("java.lang.Number", "java.lang.CharSequence", "java.lang.Character", "java.lang.Boolean")
    if isinstance(value, tuple(java(name) for name in plain)):
        return str(value)
    cls = value.getClass()
    if isinstance(value, java("java.lang.Enum")):
        return constant_name(value)
    if cls.isArray() or isinstance(
        value, (java("java.lang.Iterable"), java("java.util.Map"), java("java.util.Optional"))
    ):
        return None
    if not str(cls.getName()).startswith(("java.", "javax.")):
        return None
    return str(value)


def _parts(value: Java) -> list[tuple[str, Java]] | None:
    """The parts of what holds any number of them, each with what tells it from the others; None for other values."""
    if isinstance(value, java("java.util.Optional")):
        return [("", value.get())] if value.isPresent() else []
    if isinstance(value, java("java.util.Map")):
        return [("of " + in_words(entry.getKey()), entry.getValue()) for entry in value.entrySet()]
    if isinstance(value, java("java.util.Set")):
        return sorted(((in_words(one), one) for one in value), key=lambda part: part[0])
    if isinstance(value, java("java.lang.Iterable")) and not isinstance(value, java("java.nio.file.Path")):
        return [(str(place), one) for place, one in enumerate(value)]
    if value.getClass().isArray():
        arrays = java("java.lang.reflect.Array")
        return [(str(place), arrays.get(value, place)) for place in range(int(arrays.getLength(value)))]
    return None


def in_words(value: Java) -> str:
    """A value in one line."""
    return ", ".join(f"{path}={text}" if path else text for path, text in fields_of(value).items())


def _fields(value: Java) -> Iterator[tuple[str, Java]]:
    if is_a(value, "types.Row"):
        names = value.getFieldNames(True)
        if names is not None:
            yield from ((str(name), value.getField(name)) for name in names)
            return
        yield from (("f" + str(place), value.getField(place)) for place in range(int(value.getArity())))
        return
    if is_a(value, "runtime.state.ttl.TtlValue"):
        yield "", value.getUserValue()
        return
    for field in instance_fields(value.getClass()):
        try:
            field.setAccessible(True)
            yield str(field.getName()), field.get(value)
        except jpype.JException:
            continue
