"""Assigners, triggers and the like as text: their class, with the numbers, switches and times in them."""

from __future__ import annotations

from hashlib import sha256

import jpype

from compat.loader.jvm.bridge import FLINK, Java, class_name, fields_of, is_a, java
from compat.loader.jvm.usercode import code_of

_TOLD = ("java.lang.Number", "java.lang.Boolean", "java.lang.Enum")
_DURATION = "java.time.Duration"
_UNTOLD = (
    "api.common.state.StateDescriptor",
    "api.common.state.v2.StateDescriptor",
    "api.common.typeutils.TypeSerializer",
    "api.common.typeinfo.TypeInformation",
)
_USUAL = ("0", "ALIGNED", "false", "False")
_OFFSETS = ("offset", "globalOffset", "staggerOffset")
_DEFAULT_TRIGGER = "defaultTrigger"
_STATIC, _TRANSIENT = 0x8, 0x80


def settings_text(value: Java) -> str:
    """An object as text: ``CountTrigger(10)``. One that is not Flink's has a digest of its code and values beside its name."""
    full = class_name(value) or ""
    name = full.rpartition(".")[2].partition("$$Lambda")[0].rpartition("$")[2]
    if not full.startswith(FLINK):
        code = code_of(value)
        told = [code.digest or "", *(one.digest for one in code.captured)]
        return f"{name}#{digest_of(' '.join(told))}"
    parts = [text for field, inner in _fields(value) if (text := _text(field, inner)) is not None]
    return f"{name}({', '.join(parts)})"


def _text(field: str, inner: Java) -> str | None:
    """What is in a field; None for what says nothing, or what most programs never set."""
    if inner is None or is_a(inner, *_UNTOLD) or field == _DEFAULT_TRIGGER:
        return None
    if java(_DURATION).class_.isInstance(inner):
        return str(inner.toMillis())
    if any(java(name).class_.isInstance(inner) for name in _TOLD):
        usual = str(inner) in _USUAL and (field in _OFFSETS or not java("java.lang.Number").class_.isInstance(inner))
        return None if usual else str(inner)
    if (class_name(inner) or "").startswith("java."):
        return None
    return settings_text(inner)


def _fields(value: Java) -> list[tuple[str, Java]]:
    found = []
    for field in fields_of(value):
        if int(field.getModifiers()) & (_STATIC | _TRANSIENT):
            continue
        try:
            field.setAccessible(True)
            found.append((str(field.getName()), field.get(value)))
        except jpype.JException:  # a module that is not open
            continue
    return found


def digest_of(text: str) -> str:
    """A short digest of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
