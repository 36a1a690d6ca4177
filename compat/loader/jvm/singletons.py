"""Singleton objects, and how Kryo reads them: constants, and the ``object``s of Scala and Kotlin.

Programs compare such objects by identity: in ``match``, with ``None``, and at the end of a ``List``. Kryo writes their class
and fields, and creates another object when it reads them. This module tests that with the serializer itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import jpype

from compat.loader.jvm.bridge import Java, java
from compat.state.model.code import Misread

_STATIC, _FINAL = 0x0008, 0x0010
_FIELDS = ("MODULE$", "INSTANCE")
"""The fields in which the compilers of Scala and Kotlin keep the one object of a class."""
_NIL = "scala.collection.immutable.Nil$"
_OF_LIBRARY = ("scala.None$", _NIL)
"""Objects of Scala's library that are compared by identity."""
_LISTS = ("scala.collection.immutable.List", "scala.collection.immutable.$colon$colon")
"""The types whose values all end in the empty list."""
SCALA_ENUM = "scala.reflect.Enum"
SCALA_ENUMERATION = "scala.Enumeration"
_BUFFER = 4096
_MOST = 1000


def one_only(cls: Java) -> Java:
    """The only object of a class; None for a class without one, or with several."""
    for name in _FIELDS:
        for field in _declared(cls):
            if str(field.getName()) == name and int(field.getModifiers()) & _STATIC and field.getType().equals(cls):
                return _static(field)
    return None


def constants_of(cls: Java) -> list[Java]:
    """The constants of an enum of Java, Kotlin or Scala 3 in the order of their numbers; none for other classes."""
    if cls.isEnum():
        return list(cls.getEnumConstants())
    if not any(str(one.getName()) == SCALA_ENUM for one in interfaces_of(cls)):
        return []
    companion = beside(cls, f"{cls.getName()}$")
    if companion is None:
        return []
    found = [_static(field) for field in _declared(companion) if field.getType().equals(cls)]
    return sorted((one for one in found if one is not None), key=lambda one: int(one.ordinal()))


def enumeration(cls: Java) -> tuple[tuple[str, ...], list[Java]]:
    """The names of the values of an ``Enumeration`` of Scala, each at its number, and the values."""
    made = one_only(cls)
    if made is None:
        return (), []
    values, iterator = [], made.values().iterator()
    while iterator.hasNext():
        values.append(iterator.next())
    by_id = {int(one.id()): str(one.toString()) for one in values}
    if not by_id or min(by_id) < 0 or max(by_id) > _MOST:
        return (), values
    return tuple(by_id.get(number, "") for number in range(max(by_id) + 1)), values


def of_library(cls: Java) -> Iterator[tuple[Java, bool]]:
    """The objects of Scala's library that values of one of its types may be, and whether all values hold them."""
    declared = str(cls.getName())
    if not declared.startswith("scala."):
        return
    for name in _OF_LIBRARY:
        other = beside(cls, name)
        always = name == _NIL and declared in _LISTS
        if other is not None and (always or cls.isAssignableFrom(other)) and (found := one_only(other)) is not None:
            yield found, always


def misread(kryo: Java, values: list[Java]) -> Misread | None:
    """What Kryo makes of these objects: None if it reads each as itself or as one that is equal."""
    answers = {_misread(kryo, value) for value in values}
    return "broken" if "broken" in answers else "unequal" if "unequal" in answers else None


def _misread(kryo: Java, value: Java) -> Misread | None:
    try:
        output = java("com.esotericsoftware.kryo.io.Output")(_BUFFER, -1)
        kryo.writeClassAndObject(output, value)
        back = kryo.readClassAndObject(java("com.esotericsoftware.kryo.io.Input")(output.toBytes()))
        if back is None or not back.getClass().equals(value.getClass()):
            return "broken"
        return None if bool(value.equals(back)) and bool(back.equals(value)) else "unequal"
    except (jpype.JException, TypeError, AttributeError):
        return "broken"


def beside(cls: Java, name: str) -> Java:
    """Another class by its name, as the loader of a class sees it; None if there is none."""
    try:
        return java("java.lang.Class").forName(name, False, cls.getClassLoader())
    except jpype.JException:
        return None


def _declared(cls: Java) -> Iterator[Java]:
    try:
        yield from cls.getDeclaredFields()
    except jpype.JException:
        return  # a class that one of them is of is missing


def _static(field: Java) -> Java:
    """The value of a static field; None if its class cannot be made ready, or the field is no static one."""
    if not int(field.getModifiers()) & _STATIC:
        return None
    try:
        field.setAccessible(True)
        return field.get(None)
    except jpype.JException:
        return None


def interfaces_of(cls: Java) -> Iterator[Java]:
    """All interfaces of a class, some more than once."""
    while cls is not None:
        for one in cls.getInterfaces():
            yield one
            yield from interfaces_of(one)
        cls = cls.getSuperclass()
