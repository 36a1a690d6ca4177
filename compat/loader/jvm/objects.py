"""Objects of the user's and of Flink's as text: their class, their code, and what they were made with.

Digests stand for values, which may be secrets; numbers, switches and times are told as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import jpype

from compat.loader.jvm.bridge import FLINK, Java, bytes_of, class_name, fields_of, is_a, java
from compat.loader.jvm.classfile import BadClassFile, ClassCode, ClassFile, Method
from compat.plan.behaviour import Code

_PLATFORM = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.", "kotlin.")
_PLAIN = (
    "java.lang.Number",
    "java.lang.CharSequence",
    "java.lang.Boolean",
    "java.lang.Character",
    "java.lang.Enum",
    "java.lang.Class",
    "java.time.Duration",
    "java.time.Instant",
    "java.time.ZoneId",
    "java.util.UUID",
    "java.util.regex.Pattern",
)
_TOLD = ("java.lang.Number", "java.lang.Boolean", "java.lang.Enum", "java.time.Duration")
_UNTOLD = (
    "api.common.state.StateDescriptor",
    "api.common.state.v2.StateDescriptor",
    "api.common.typeutils.TypeSerializer",
    "api.common.typeinfo.TypeInformation",
)
_LAMBDA = "$$Lambda"
_NUMBERED = re.compile(r"\$\d+$")
_DEPTH, _ELEMENTS = 5, 100
_STATIC, _TRANSIENT = 0x8, 0x80


@dataclass(frozen=True, slots=True)
class Body:
    """The code of an object: of a lambda, the method that holds it; ``captured`` is what that took from around it."""

    name: str
    codes: tuple[ClassCode, ...]
    method: Method | None = None
    captured: tuple[Java, ...] = ()
    unnamed: bool = False

    def digest(self) -> str:
        """A digest of the code that does not change with the lines it was compiled from; empty if it is not at hand."""
        if self.method is not None:
            return self.codes[0].digest(self.method)
        told = sorted(
            f"{method.name}{method.descriptor} {code.digest(method)}"
            for code in self.codes
            for method in code.file.methods
            if "$" not in method.name
        )
        return digest_of("\n".join(told)) if told else ""


def given(value: Java) -> Code:
    """An object that the program gave to Flink."""
    body = body_of(value)
    values = (
        dict(_values(value, _DEPTH))
        if body.method is None
        else {f"captured {number}": digest_of(_text(one, _DEPTH)) for number, one in enumerate(body.captured)}
    )
    return Code(name=body.name, digest=body.digest(), values=values, unnamed=body.unnamed)


def body_of(value: Java) -> Body:
    """The code of an object, with that of the user's classes that it inherits from."""
    name = class_name(value) or ""
    if _LAMBDA in name:
        return _body_of_lambda(value, name)
    codes = tuple(_codes(value.getClass()))
    unnamed = bool(_NUMBERED.search(name))
    return Body(_NUMBERED.sub("", name) if unnamed else name, codes, unnamed=unnamed)


def _body_of_lambda(value: Java, name: str) -> Body:
    name = name.partition(_LAMBDA)[0]
    try:
        method = value.getClass().getDeclaredMethod("writeReplace")
        method.setAccessible(True)
        written = method.invoke(value)
        code = class_code(value.getClass().getClassLoader(), str(written.getImplClass()))
        captured = tuple(written.getCapturedArg(number) for number in range(int(written.getCapturedArgCount())))
        found = (
            None
            if code is None
            else code.method(str(written.getImplMethodName()), str(written.getImplMethodSignature()))
        )
    except jpype.JException:
        return Body(name, (), unnamed=True)
    if code is None or found is None:  # a reference to a method of another class
        return Body(f"{str(written.getImplClass()).replace('/', '.')}::{written.getImplMethodName()}", ())
    return Body(name, (code,), found, captured, unnamed=True)


def _codes(cls: Java) -> Iterator[ClassCode]:
    while cls is not None and not is_framework(str(cls.getName())):
        code = class_code(cls.getClassLoader(), str(cls.getName()).replace(".", "/"))
        if code is not None:
            yield code
        cls = cls.getSuperclass()


def class_code(loader: Java, name: str) -> ClassCode | None:
    """The code of a class (``a/b/C``) as a loader finds it; None if it does not."""
    stream = None if loader is None else loader.getResourceAsStream(f"{name}.class")
    if stream is None:
        return None
    try:
        return ClassCode(ClassFile(bytes_of(stream.readAllBytes())))
    except BadClassFile:
        return None
    finally:
        stream.close()


def is_framework(name: str) -> bool:
    """True for a class of Flink's or of the platform's by its name, with dots or slashes."""
    dotted = name.replace("/", ".")
    return dotted.startswith((FLINK, *_PLATFORM))


def settings_text(value: Java) -> str:
    """An object as text, with the numbers, switches and times that it was made with: ``CountTrigger(10)``."""
    name = (class_name(value) or "").rpartition(".")[2]
    if _LAMBDA in name:
        made = given(value)
        return f"lambda#{made.digest[:6]}"
    parts = []
    for field, content in _fields(value):
        if content is None or is_a(content, *_UNTOLD) or _is_usual(field, content):
            continue
        if _is_of(content, _TOLD):
            parts.append(_number_text(content))
        elif _is_of(content, _PLAIN):
            parts.append(f"{field} #{digest_of(str(content))[:6]}")
        else:
            parts.append(settings_text(content))
    own = "" if is_framework(class_name(value) or "") or not (code := body_of(value).digest()) else f"#{code[:6]}"
    return f"{name.rpartition('$')[2]}{own}({', '.join(parts)})"


def _number_text(content: Java) -> str:
    return str(content.toMillis()) if _is_of(content, ("java.time.Duration",)) else str(content)


def _is_usual(field: str, content: Java) -> bool:
    """True for an offset of zero and the like: what most programs never set."""
    if field == "defaultTrigger":
        return True
    return (field in ("offset", "globalOffset", "staggerOffset") and str(content) in ("0", "None")) or (
        str(content) in ("ALIGNED", "false")
    )


def _values(value: Java, depth: int) -> Iterator[tuple[str, str]]:
    """A digest of what is in each field of an object."""
    for name, content in _fields(value):
        yield name, digest_of(_text(content, depth))


def _fields(value: Java) -> Iterator[tuple[str, Java]]:
    """The fields that travel with an object, without those of functions and of the platform that are there in any."""
    for field in fields_of(value):
        if int(field.getModifiers()) & (_STATIC | _TRANSIENT) or str(field.getName()).startswith("this$"):
            continue
        try:
            field.setAccessible(True)
            yield str(field.getName()), field.get(value)
        except jpype.JException:  # a module that is not open
            continue


def _text(value: Java, depth: int) -> str:
    """A value as text that is the same wherever the program is built."""
    if value is None:
        return "null"
    name = class_name(value) or ""
    if _is_of(value, _PLAIN):
        return f"{name} {value}"
    if depth == 0 or is_a(value, *_UNTOLD):
        return name
    if name.startswith("[") and len(name) == len("[I"):
        return str(list(_first(value)))
    if name.startswith("["):
        return f"[{', '.join(_text(one, depth - 1) for one in _first(value))}]"
    if _is_of(value, ("java.util.Map",)):
        entries = sorted(
            f"{_text(one.getKey(), depth - 1)}={_text(one.getValue(), depth - 1)}" for one in _first(value.entrySet())
        )
        return f"{{{', '.join(entries)}}}"
    if _is_of(value, ("java.util.Collection",)):
        elements = [_text(one, depth - 1) for one in _first(value)]
        return f"[{', '.join(sorted(elements) if _is_of(value, ('java.util.Set',)) else elements)}]"
    if _LAMBDA in name:
        made = given(value)
        return f"{made.name} {made.digest} {made.values}"
    if is_framework(name) and not name.startswith(FLINK):
        return name
    inner = ", ".join(f"{field}={_text(content, depth - 1)}" for field, content in _fields(value))
    own = "" if is_framework(name) else body_of(value).digest()
    return f"{_NUMBERED.sub('', name)}{own}({inner})"


def _first(values: Java) -> Iterator[Java]:
    for number, value in enumerate(values):
        if number == _ELEMENTS:
            return
        yield value


def _is_of(value: Java, names: tuple[str, ...]) -> bool:
    return any(java(name).class_.isInstance(value) for name in names)


def digest_of(text: str) -> str:
    """A digest of a text, in 16 digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
