"""Finds values whose types contradict type arguments, which no JVM checks.

A list of texts that is read into a field of type ``List<Long>`` is not an error until a number is taken out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import jpype

from compat.loader.jvm.bridge import Java, class_name, java
from compat.loader.jvm.made_up import instance_fields

_REFLECT = "java.lang.reflect."
_DEPTH, _LOOKED_AT = 6, 3


def misfit(value: Java, depth: int = _DEPTH) -> str | None:
    """A sentence on the first field of a value, or of a nested value, whose contents differ from its declaration."""
    if value is None or depth == 0 or _is_of_java(value):
        return next((found for one in _held(value) if (found := misfit(one, depth - 1))), None) if depth else None
    for field in instance_fields(value.getClass()):
        try:
            field.setAccessible(True)
            held = field.get(value)
        except jpype.JException:
            continue
        kind = field.getGenericType()
        for one in _strangers(held, kind):
            name = f"{value.getClass().getSimpleName()}.{field.getName()}"
            return f"The field {name} of type {_short(kind)} holds a {one.getClass().getSimpleName()}."
        if (found := misfit(held, depth - 1)) is not None:
            return found
    return None


def _strangers(held: Java, kind: Java) -> Iterator[Java]:
    """What a collection, map or Optional holds that is not of the type in its angle brackets."""
    if held is None or not isinstance(kind, java(f"{_REFLECT}ParameterizedType")):
        return
    given = list(kind.getActualTypeArguments())
    if isinstance(held, java("java.util.Map")) and len(given) == 2:
        parts: Iterable[tuple[Java, Iterable[Java]]] = ((given[0], held.keySet()), (given[1], held.values()))
    elif len(given) == 1 and isinstance(held, (java("java.lang.Iterable"), java("java.util.Optional"))):
        parts = ((given[0], _held(held)),)
    else:
        return
    for declared, values in parts:
        raw = _raw(declared)
        for one in _first(values):
            if one is not None and raw is not None and not raw.isInstance(one):
                yield one
            yield from _strangers(one, declared)


def _raw(kind: Java) -> Java:
    """The class of a type; None for one that stands for another."""
    if isinstance(kind, java(f"{_REFLECT}ParameterizedType")):
        return kind.getRawType()
    return kind if isinstance(kind, java("java.lang.Class")) else None


def _held(value: Java) -> Iterator[Java]:
    """The first of what a collection, map, array or Optional holds."""
    if isinstance(value, java("java.util.Map")):
        for entry in _first(value.entrySet()):
            yield entry.getKey()
            yield entry.getValue()
    elif isinstance(value, java("java.util.Optional")):
        if value.isPresent():
            yield value.get()
    elif isinstance(value, java("java.lang.Iterable")) and not isinstance(value, java("java.nio.file.Path")):
        yield from _first(value)


def _first(values: Iterable[Java]) -> Iterator[Java]:
    for number, one in enumerate(values):
        if number == _LOOKED_AT:
            return
        yield one


def _is_of_java(value: Java) -> bool:
    return (class_name(value) or "").startswith(("java.", "javax.", "[", "scala."))


def _short(kind: Java) -> str:
    """A type as a program spells it."""
    return " ".join(
        part for part in str(kind.getTypeName()).replace("java.util.", "").replace("java.lang.", "").split()
    )
