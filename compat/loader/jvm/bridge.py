"""Small helpers for the JVM: classes by name, members that are not public, exceptions as records.

Java objects have the type :data:`Java` here; only Flink's sources define their members.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import jpype

from compat.loader.jvm.messages import Crash, JavaFrame

Java: TypeAlias = Any
FLINK = "org.apache.flink."
_FRAMEWORK_LOADERS = ("app", "platform", "bootstrap")
_FRAMEWORK = (
    *("org.jpype.", "jdk.", "java.", "javax.", "sun.", "com.sun.proxy.", "scala.", "kotlin."),
    "org.apache.flink.table.planner.",
)
_ENDS = 10
"""The number of frames of a long stack that are shown, from the innermost and from the outermost on."""
_TRACE = re.compile(r"\s*\n\s*(?:at [\w.$/<>@]+\([^)\n]*\)|\.\.\. \d+ more)")
"""A line of a trace."""
_IDENTITY = re.compile(r"(?<=[\w$;])@[0-9a-f]{5,8}\b")
"""The hash code in Java's default text of an object."""


def flink(name: str) -> Java:
    """A class of Flink by its name below ``org.apache.flink``."""
    return jpype.JClass(FLINK + name)


def java(name: str) -> Java:
    """A class by its full name."""
    return jpype.JClass(name)


def is_a(value: Java, *names: str) -> bool:
    """True for an object of one of these classes of Flink; versions that do not have a class have no objects of it."""
    for name in names:
        try:
            if isinstance(value, flink(name)):
                return True
        except (TypeError, jpype.JException):
            continue
    return False


def extends(value: Java, *names: str) -> bool:
    """True for an object of one of these classes of Flink, or of a subclass, whatever class loader has it."""
    cls, wanted = value.getClass(), {FLINK + name for name in names}
    while cls is not None:
        if str(cls.getName()) in wanted:
            return True
        cls = cls.getSuperclass()
    return False


def member(target: Java, name: str) -> Java:
    """The value of a field, even if it is private. Raises AttributeError if there is none."""
    for field in fields_of(target):
        if str(field.getName()) == name:
            field.setAccessible(True)
            return field.get(target)
    raise AttributeError(f"{target.getClass().getName()} has no field {name!r}")


def set_member(target: Java, name: str, value: Java) -> None:
    """Set a field, even if it is private. Raises AttributeError if there is none."""
    for field in fields_of(target):
        if str(field.getName()) == name:
            field.setAccessible(True)
            field.set(target, value)
            return
    raise AttributeError(f"{target.getClass().getName()} has no field {name!r}")


def members(target: Java) -> Iterator[Java]:
    """The values of all fields of an object, including private ones."""
    for field in fields_of(target):
        field.setAccessible(True)
        yield field.get(target)


def fields_of(target: Java) -> Iterator[Java]:
    """The fields of an object's class and its superclasses, including private ones."""
    cls = target.getClass()
    while cls is not None:
        yield from cls.getDeclaredFields()
        cls = cls.getSuperclass()


def is_record(cls: Java) -> bool:
    """True for a class that is a record of Java; Java 11 has none."""
    return bool(getattr(cls, "isRecord", lambda: False)())


def exists(name: str) -> bool:
    """True for a class below Flink's package that exists in this version."""
    try:
        return flink(name) is not None
    except (jpype.JException, TypeError):
        return False


def operator_of(factory: Java) -> Java:
    """The operator in a simple factory; None for factories that create it later."""
    return factory.getOperator() if factory is not None and hasattr(factory, "getOperator") else None


def text_or_none(value: Java) -> str | None:
    """A Java string or object as text."""
    return None if value is None else str(value)


def class_name(value: Java) -> str | None:
    """The name of an object's class."""
    return None if value is None else str(value.getClass().getName())


def constant_name(constant: Java) -> str:
    """The name of an enum's constant, even if its class has its own field or method called ``name``."""
    return str(java("java.lang.Enum").name(constant))


def bytes_of(array: Java) -> bytes:
    """A Java ``byte[]`` as bytes."""
    return bytes(memoryview(array)) if len(array) else b""


def array_of(kind: Java) -> Java:
    """The class of Java arrays of a class."""
    return jpype.JArray(kind)


def byte_array(data: bytes) -> Java:
    """Bytes as a Java ``byte[]``."""
    return array_of(jpype.JByte)(data)


def user_frames(trace: Java) -> Iterator[JavaFrame]:
    """The lines of a stack trace in the user's code, not Flink's, Java's or compat's. Innermost first."""
    for element in trace:
        name = str(element.getClassName())
        if element.getModuleName() is not None or text_or_none(element.getClassLoaderName()) in _FRAMEWORK_LOADERS:
            continue
        if name.startswith(_FRAMEWORK):
            continue
        yield JavaFrame(
            class_name=name,
            method=str(element.getMethodName()),
            file=text_or_none(element.getFileName()) or "",
            line=max(int(element.getLineNumber()), 0),
        )


def causes(error: Java) -> Iterator[Java]:
    """An exception and its causes, outermost first."""
    seen: list[Java] = []
    while error is not None and not any(error is one or error.equals(one) for one in seen):
        seen.append(error)
        yield error
        error = error.getCause()


def crash(error: Java, wrappers: tuple[str, ...] = ()) -> Crash:
    """The crash in an exception, without the ``wrappers`` around it; the frames are from the innermost exception that
    has some.
    """
    chain = list(causes(error))
    while len(chain) > 1 and str(chain[0].getClass().getName()) in wrappers:
        chain.pop(0)
    frames: tuple[JavaFrame, ...] = ()
    for one in chain:
        found = tuple(user_frames(one.getStackTrace()))
        frames = (found if len(found) <= 2 * _ENDS else (*found[:_ENDS], *found[-_ENDS:])) or frames
    first = chain[0]
    message = text_or_none(first.getMessage()) or ""
    root = chain[-1]
    if root is not first and (said := text_or_none(root.getMessage())) and said not in message:
        message = f"{message} Caused by {root.getClass().getSimpleName()}: {said}".strip()
    return Crash(type=str(first.getClass().getName()), message=_plain(message), frames=frames)


def described(error: Java) -> str:
    """The innermost cause of an exception in one line."""
    root = list(causes(error))[-1]
    message = text_or_none(root.getMessage())
    name = str(root.getClass().getSimpleName())
    return f"{name}: {_plain(message)}" if message else name


def _plain(message: str) -> str:
    """What an exception says without the traces of others that some put into it, and without numbers that Java draws."""
    return _IDENTITY.sub("", _TRACE.sub("", message))
