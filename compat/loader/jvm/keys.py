"""The user's classes in a key: how they are written, and their ``hashCode``, which determines where a key's state is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import jpype
import msgspec

from compat.loader.jvm.bridge import Java, bytes_of, class_name, flink, is_a, is_record, java, member
from compat.loader.jvm.bytecode import Classes, Walk
from compat.loader.jvm.classes import Values, Written, serializers_in
from compat.loader.jvm.classfile import Member, Method
from compat.loader.jvm.usercode import classes_of, code_of, fields_of, is_reference, lambda_of, member_of
from compat.state.model.code import HashCode, Key, UserCode

_RUNTIME = "api.java.typeutils.runtime."
_SAMPLES = 24
_NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    10,
    42,
    99,
    100,
    255,
    1000,
    -1000,
    4711,
    65537,
    1_000_003,
    -123_456_789,
    2**31 - 1,
    2**40 + 9,
)
_TEXTS = (
    "a",
    "",
    "key 7",
    "Straße",
    "UPPER",
    "42",
    "2024-02-29",
    "a,b;c",
    " padded ",
    "x" * 40,
    "user@example.com",
    "-1",
    "\t",
)
_DEPTH = 6
_TUPLES = f"{_RUNTIME}TupleSerializerBase"
_BASE = "org.apache.flink.api.common.typeutils.base."


class NoSample(Exception):
    """A type for which no value can be made up."""


def key_of(snapshot: Java, values: Values) -> Key | None:
    """A plan's facts about a key, from the snapshot of its serializer; None if it contains none of the user's classes."""
    try:
        serializer = snapshot.restoreSerializer()
    except jpype.JException:
        return None
    written = Written(values)
    written.serializer(serializer)
    classes, hashes = written.classes(), tuple(_hashes(serializer))
    return Key(classes=classes, hashes=hashes) if hashes or classes else None


def selector_of(selector: Java, records: Java, keys: Java) -> UserCode | None:
    """The code of a KeySelector: of the expression that makes a key, however it is spelled. None for an input without keys.

    ``records`` and ``keys`` are the serializers of what it is given and of what it gives.
    """
    if selector is None:
        return None
    found = code_of(selector)
    told = lambda_of(selector)
    loader = selector.getClass().getClassLoader()
    if told is not None:
        method, reference = member_of(told), is_reference(told)
        carries = bool(int(told.getCapturedArgCount()))
        root = str(told.getCapturingClass())
    else:
        name = (class_name(selector) or "").replace(".", "/")
        if loader is None or not classes_of(loader).here(name):
            return found
        declared = classes_of(loader).seen_from(name).implementation(name, "getKey")
        if declared is None:
            return found
        method, reference, root = declared.member, False, name
        carries = any(True for _ in fields_of(selector))
    walk = Walk(classes_of(loader).seen_from(root), root, frozenset()).inside(root).expression(method, reference)
    digest = walk.digest()
    samples = None if walk.branches else _keys(selector, records, keys, walk.constants)
    return msgspec.structs.replace(found, digest=found.digest if carries else digest, samples=samples)


def _keys(selector: Java, records: Java, keys: Java, constants: tuple[str, ...]) -> str | None:
    """A digest of the keys of some records, and of the constants in the code; None if no records can be made up."""
    told: list[object] = [constants]
    try:
        for number in range(_SAMPLES):
            out = flink("core.memory.DataOutputSerializer")(64)
            try:
                keys.serialize(selector.getKey(_sample(records, number, False, 0)), out)
                told.append(bytes_of(out.getCopyOfBuffer()))
            except jpype.JException as error:
                told.append(class_name(error))
    except (NoSample, TypeError, AttributeError):
        return None
    return hashlib.sha256(repr(told).encode()).hexdigest()[:32]


def _hashes(serializer: Java) -> Iterator[HashCode]:
    """The hash of each class of the user's in a key; that of a key of Flink's own which holds what hashes by identity."""
    seen: set[str] = set()
    for one in (serializer, *serializers_in(serializer)):
        cls = _class_of(one)
        if cls is None or str(cls.getName()) in seen:
            continue
        seen.add(str(cls.getName()))
        samples, by_identity = _sampled(one)
        loader = cls.getClassLoader()
        name = str(cls.getName()).replace(".", "/")
        if loader is None or not classes_of(loader).here(name):
            if by_identity:
                yield HashCode(name=str(cls.getName()), by_identity=True)
            continue
        if cls.isEnum():
            if one is serializer:
                yield HashCode(name=str(cls.getName()), by_identity=True)
            continue
        classes = classes_of(loader).seen_from(name)
        digest, branches = _digest(classes, name, "hashCode", "()I")
        yield HashCode(
            name=str(cls.getName()),
            digest=digest,
            equals=_digest(classes, name, "equals", "(Ljava/lang/Object;)Z")[0],
            samples=None if branches else samples,
            by_identity=by_identity,
        )


def _digest(classes: Classes, name: str, method: str, descriptor: str) -> tuple[str | None, bool]:
    """The digest of a method that a class has or takes over from another one of the user's, and whether it has branches."""
    found = classes.resolve(Member(name, method, descriptor))
    if found is None or found.code is None:
        return None, False
    walk = Walk(classes, name).inside(name).method(found.member)
    return _with_components(walk.digest(), found), walk.branches


def _with_components(digest: str, method: Method) -> str:
    """A record's own methods go by its components, in their order."""
    parts = method.owner.record_components
    text = digest if parts is None else f"{digest} {parts}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _class_of(serializer: Java) -> Java:
    """The class of a serializer's values, where it is for one."""
    if is_a(serializer, f"{_RUNTIME}PojoSerializer"):
        return member(serializer, "clazz")
    if is_a(serializer, f"{_RUNTIME}kryo.KryoSerializer"):
        return member(serializer, "type")
    if is_a(serializer, _TUPLES):
        return serializer.getTupleClass()
    if is_a(serializer, f"{_RUNTIME}ValueSerializer"):
        return member(serializer, "type")
    if is_a(serializer, "api.common.typeutils.base.EnumSerializer"):
        return member(serializer, "enumClass")
    return None


def _sampled(serializer: Java) -> tuple[str | None, bool]:
    """A digest of the hash codes of some values, and whether equal ones differ; None and False if none can be made."""
    told = []
    by_identity = False
    try:
        for number in range(_SAMPLES):
            one, other = (int(_sample(serializer, number, again, 0).hashCode()) for again in (False, True))
            by_identity = by_identity or one != other
            told.append(one)
    except (NoSample, jpype.JException, TypeError, AttributeError):
        return None, False
    return hashlib.sha256(repr(told).encode()).hexdigest()[:32], by_identity


def _sample(serializer: Java, number: int, again: bool, depth: int) -> Java:
    """The value of some number of a serializer's type; made ``again``, it shares nothing with the first one."""
    if depth > _DEPTH:
        raise NoSample
    if is_a(serializer, f"{_RUNTIME}PojoSerializer"):
        values = [
            _sample(one, number + place, again, depth + 1)
            for place, one in enumerate(member(serializer, "fieldSerializers"))
        ]
        return pojo_of(serializer, values)
    if is_a(serializer, _TUPLES):
        made = serializer.createInstance()
        for place, one in enumerate(member(serializer, "fieldSerializers")):
            made.setField(_sample(one, number + place, again, depth + 1), place)
        return made
    if is_a(serializer, "api.common.typeutils.base.EnumSerializer"):
        return _constant(member(serializer, "enumClass"), number, again)
    return _of_name((class_name(serializer) or "").removeprefix(_BASE), number)


def pojo_of(serializer: Java, values: list[Java]) -> Java:
    cls = member(serializer, "clazz")
    fields = list(member(serializer, "fields"))
    if is_record(cls):
        by_name = {str(field.getName()): value for field, value in zip(fields, values, strict=True)}
        parts = list(cls.getRecordComponents())
        constructor = cls.getDeclaredConstructor([part.getType() for part in parts])
        constructor.setAccessible(True)
        return constructor.newInstance([by_name[str(part.getName())] for part in parts])
    made = serializer.createInstance()
    for field, value in zip(fields, values, strict=True):
        field.setAccessible(True)
        field.set(made, value)
    return made


def _constant(cls: Java, number: int, again: bool) -> Java:
    """A constant of an enum; made again, it is another object that says the same of itself."""
    constants = list(cls.getEnumConstants())
    constant = constants[number % len(constants)]
    if not again:
        return constant
    unsafe = java("java.lang.Class").forName("sun.misc.Unsafe").getDeclaredField("theUnsafe")
    unsafe.setAccessible(True)
    twin = unsafe.get(None).allocateInstance(constant.getClass())
    above = java("java.lang.Class").forName("java.lang.Enum")
    for name in ("name", "ordinal"):
        field = above.getDeclaredField(name)
        field.setAccessible(True)
        field.set(twin, field.get(constant))
    return twin


def _of_name(name: str, number: int) -> Java:
    """A value of one of Flink's basic types, by the name of its serializer."""
    if name in ("StringSerializer", "StringValueSerializer"):
        return java("java.lang.String")(_TEXTS[number % len(_TEXTS)])
    boxed = {
        "LongSerializer": "Long",
        "IntSerializer": "Integer",
        "ShortSerializer": "Short",
        "ByteSerializer": "Byte",
        "DoubleSerializer": "Double",
        "FloatSerializer": "Float",
    }.get(name)
    if boxed is not None:
        value = _NUMBERS[number % len(_NUMBERS)]
        bits = {"Byte": 8, "Short": 16, "Integer": 32}.get(boxed, 64)
        return java(f"java.lang.{boxed}").valueOf(str((value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)))
    if name == "BooleanSerializer":
        return java("java.lang.Boolean").valueOf(number % 2 == 0)
    if name == "CharSerializer":
        return java("java.lang.Character").valueOf(chr(ord("a") + number))
    if name.startswith("array.") and name.endswith("PrimitiveArraySerializer"):
        kind = {"Byte": jpype.JByte, "Int": jpype.JInt, "Long": jpype.JLong, "Double": jpype.JDouble}.get(
            name.removeprefix("array.").removesuffix("PrimitiveArraySerializer")
        )
        if kind is not None:
            return jpype.JArray(kind)([number, number + 1])
    raise NoSample
