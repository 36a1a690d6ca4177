"""The user's classes behind a serializer: how their values are written, which Flink's snapshots do not record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import jpype
import msgspec

from compat.loader.jvm.bridge import Java, class_name, constant_name, flink, is_a, is_record, java, member, members
from compat.loader.jvm.bytecode import Walk
from compat.loader.jvm.singletons import (
    SCALA_ENUMERATION,
    beside,
    constants_of,
    enumeration,
    misread,
    of_library,
    one_only,
)
from compat.loader.jvm.upstream import Held
from compat.loader.jvm.usercode import UserClasses, classes_of
from compat.state.model.code import Misread, Writer, WrittenClass, WrittenField

_RUNTIME = "api.java.typeutils.runtime."
_KRYO = f"{_RUNTIME}kryo.KryoSerializer"
_POJO = f"{_RUNTIME}PojoSerializer"
_CASE_CLASS = "api.scala.typeutils.CaseClassSerializer"
_BY_VALUE = {f"{_RUNTIME}ValueSerializer": "type", f"{_RUNTIME}CopyableValueSerializer": "valueClass"}
_BY_JAVA = ("runtime.state.JavaSerializer", "api.common.typeutils.base.JavaSerializer")
_SERIALIZER = "api.common.typeutils.TypeSerializer"
_ESOTERIC = "com.esotericsoftware.kryo."
_OF_FIELDS = f"{_ESOTERIC}serializers.FieldSerializer"
_OF_ENUMS = f"{_ESOTERIC}serializers.DefaultSerializers$EnumSerializer"
_OF_ITSELF = f"{_ESOTERIC}serializers.DefaultSerializers$KryoSerializableSerializer"
_OF_RECORDS = f"{_ESOTERIC}serializers.RecordSerializer"
_OF_JAVA = (f"{_ESOTERIC}serializers.JavaSerializer", f"{_ESOTERIC}serializers.ExternalizableSerializer")
_ABSTRACT, _FINAL, _STATIC = 0x0400, 0x0010, 0x0008
_ANY = "java.lang.Object"
_OF_ANYTHING = (_ANY, "java.io.Serializable", "java.lang.Comparable", "org.apache.flink.types.Row")
_DEPTH, _CLASSES = 12, 500
_ANSWERS = ("compatibleAfterMigration", "incompatible", "compatibleWithReconfiguredSerializer")


class Values(NamedTuple):
    """The values in code: the classes of the objects that the operator's function creates, and the possible classes of
    values whose type is not declared. Each is computed on demand.
    """

    made: Callable[[], frozenset[str]]
    held: Callable[[], tuple[Held, ...]]


def written_by(snapshots: Iterable[Java], values: Values) -> tuple[WrittenClass, ...]:
    """The user's classes that the serializers of some snapshots write."""
    written = Written(values)
    for snapshot in snapshots:
        try:
            written.serializer(snapshot.restoreSerializer())
        except jpype.JException:
            # A class of it is not at hand, or one of the user's raised.
            written.unknown(class_name(snapshot) or "")
    return written.classes()


def makes_records(given: Java, depth: int = 0) -> bool:
    """Whether a serializer makes records of Java. Flink's for POJOs calls their constructors, which are code of the program,
    with nothing for what is new (``PojoSerializer``, ``JavaRecordBuilderFactory``).
    """
    if is_a(given, _POJO) and is_record(member(given, "clazz")):
        return True
    return depth <= _DEPTH and any(makes_records(inner, depth + 1) for inner in _serializers(given))


class Written:
    """The classes that serializers write, found recursively."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._found: dict[tuple[str, str | None], WrittenClass] = {}
        self._seen: set[int] = set()
        self._pojos: set[str] = set()
        self._of_any: Java = None

    def classes(self) -> tuple[WrittenClass, ...]:
        """The classes found, by name; for types that do not name a class, with those that values may have."""
        if self._of_any is not None:
            for held in self._values.held():
                self._guess(self._of_any, held)
        return tuple(self._found[key] for key in sorted(self._found, key=lambda key: (key[0], key[1] or "")))

    def serializer(self, given: Java, depth: int = 0) -> None:
        """Visit a serializer, and those within it."""
        identity = int(java("java.lang.System").identityHashCode(given))
        if identity in self._seen or depth > _DEPTH:
            return
        self._seen.add(identity)
        if is_a(given, _KRYO):
            self._typed(given.getKryo(), member(given, "type"), depth)
            return
        if is_a(given, _POJO):
            self._pojos.add(str(member(given, "clazz").getName()))
            self._pojo(member(given, "clazz"), depth)
            self._fields(given, depth)
        if is_a(given, _CASE_CLASS):
            self._case_class(member(given, "tupleClass"), int(given.getArity()))
        for name, field in _BY_VALUE.items():
            if is_a(given, name):
                self._own_writing(member(given, field), ("write", "read"), class_name(given))
                return
        if is_a(given, *_BY_JAVA):
            return  # which class it writes is not known to it
        if _mine(given.getClass()) is not None:
            self._own_serializer(given)
        for inner in _serializers(given):
            self.serializer(inner, depth + 1)

    def unknown(self, name: str) -> None:
        """Record that it is unknown what the serializer of some snapshot writes."""
        self._add(WrittenClass(name=name, writer="unknown"))

    def _add(self, described: WrittenClass) -> bool:
        """Note a class; false if it was known, or if there are too many."""
        key = described.name, described.under
        if key in self._found or len(self._found) >= _CLASSES:
            return False
        self._found[key] = described
        return True

    def _own_serializer(self, given: Java) -> None:
        """A serializer of the user's: its code, and whether its snapshot ever says that it cannot read what was written."""
        classes, name = _mine(given.getClass()), _slashed(given.getClass())
        assert classes is not None
        digest = Walk(classes.seen_from(name), name).methods(name, ("serialize", "deserialize")).digest()
        snapshot = _slashed(given.snapshotConfiguration().getClass())
        answers = Walk(classes.seen_from(snapshot), snapshot).methods(
            snapshot, ("resolveSchemaCompatibility", "resolveOuterSchemaCompatibility")
        )
        decides = answers.mentions(_ANSWERS)
        self._add(
            WrittenClass(
                name=snapshot.replace("/", "."),
                writer="code",
                serializer=name.replace("/", "."),
                digest=digest,
                decides=decides,
            )
        )

    def _own_writing(
        self, cls: Java, methods: tuple[str, ...], serializer: str | None, under: str | None = None
    ) -> None:
        """A class that writes itself."""
        classes, name = _mine(cls), _slashed(cls)
        if classes is None:
            return
        digest = Walk(classes.seen_from(name), name).methods(name, methods).digest()
        self._add(self._class(cls, "code", under, serializer=serializer, digest=digest))

    def _class(
        self,
        cls: Java,
        writer: Writer,
        under: str | None,
        fields: tuple[WrittenField, ...] = (),
        constants: tuple[str, ...] = (),
        serializer: str | None = None,
        digest: str | None = None,
        version: int | None = None,
        misread: Misread | None = None,
    ) -> WrittenClass:
        name = str(cls.getName())
        return WrittenClass(
            name=name,
            writer=writer,
            fields=fields,
            constants=constants,
            serializer=serializer,
            digest=digest,
            version=version,
            under=under,
            made=under is not None and name in self._values.made(),
            abstract=writer != "enum" and bool(int(cls.getModifiers()) & _ABSTRACT),
            misread=misread,
        )

    def _pojo(self, cls: Java, depth: int) -> None:
        """The classes that may stand in for a POJO, which Flink learns of when it sees the first value."""
        for other in below(cls):
            kind = flink("api.java.typeutils.TypeExtractor").getForClass(other)
            if not is_a(kind, "api.java.typeutils.PojoTypeInfo"):
                continue  # it is written by Kryo then
            fields = tuple(
                _field(str(one.getField().getName()), one.getField().getType())
                for one in (kind.getPojoFieldAt(place) for place in range(int(kind.getArity())))
            )
            self._add(self._class(other, "pojo", str(cls.getName()), fields))

    def _case_class(self, cls: Java, arity: int) -> None:
        """A case class as Flink's API for Scala writes it: what its constructor takes, one value behind the other."""
        if _mine(cls) is None:
            return
        fields = [
            one for one in cls.getDeclaredFields() if not int(one.getModifiers()) & _STATIC and not one.isSynthetic()
        ]
        if len(fields) >= arity:
            told = tuple(_field(str(one.getName()), one.getType()) for one in fields[:arity])
            self._add(self._class(cls, "declared", None, told))

    def _fields(self, given: Java, depth: int) -> None:
        """The fields of a POJO that Kryo writes: what is in angle brackets behind their types is not in their serializers."""
        for field, by in zip(member(given, "fields"), member(given, "fieldSerializers"), strict=True):
            if field is not None and is_a(by, _KRYO):
                self._seen.add(int(java("java.lang.System").identityHashCode(by)))
                kind = field.getGenericType()
                bound = isinstance(kind, java("java.lang.reflect.TypeVariable"))
                self._typed(by.getKryo(), member(by, "type") if bound else kind, depth + 1)

    def _typed(self, kryo: Java, kind: Java, depth: int) -> None:
        """What Kryo writes of a declared type: its classes, and any, where it does not tell the class of what it holds."""
        for cls in _classes_in(kind):
            self._kryo(kryo, cls, None, depth)
        if _holds_any(kind):
            self._of_any = kryo

    def _guess(self, kryo: Java, held: Held) -> None:
        """A class of which a value may be whose class no type tells."""
        known = set(self._found)
        if (str(held.cls.getName()), None) in known or str(held.cls.getName()) in self._pojos:
            return
        if _mine(held.cls) is None:
            self._add(WrittenClass(name=str(held.cls.getName()), writer="unknown", under=_ANY))
        elif not held.cls.isInterface():
            self._kryo(kryo, held.cls, _ANY, 0)
        for key in self._found.keys() - known:
            made = held.made if key[0] == str(held.cls.getName()) else self._found[key].made
            self._found[key] = msgspec.structs.replace(self._found[key], guessed=True, made=made, misread=None)

    def _kryo(self, kryo: Java, cls: Java, under: str | None, depth: int) -> None:
        """A class that Kryo writes, what its fields hold, and the classes that may stand in for it."""
        while cls.isArray():
            cls = cls.getComponentType()
        if depth > _DEPTH or (str(cls.getName()), under) in self._found:
            return
        if _mine(cls) is None:
            self._of_library(kryo, cls)
            return
        enum = _enum(cls)
        if constants := constants_of(enum or cls):
            names = tuple(str(java("java.lang.String").valueOf(one)) for one in constants)
            if enum is not None:
                names = tuple(constant_name(one) for one in constants)
            self._add(self._class(enum or cls, "enum", None, constants=names, misread=misread(kryo, constants)))
            return
        self._directly(kryo, cls, under, depth)
        if under is None and not int(cls.getModifiers()) & _FINAL:
            for other in below(cls):
                self._kryo(kryo, other, str(cls.getName()), depth + 1)

    def _of_library(self, kryo: Java, cls: Java) -> None:
        """A class of a library: the objects of which there is one only, where Kryo makes others of them."""
        for value, always in of_library(cls):
            if (read := misread(kryo, [value])) is not None:
                self._add(
                    WrittenClass(
                        name=class_name(value) or "",
                        writer="fields",
                        made=always,
                        misread="broken" if always else read,
                    )
                )

    def _enumerations(self, kryo: Java, user: Java, held: Java) -> None:
        """The enumerations of Scala in the user's house, if a field of one of the user's classes holds a value of one."""
        root = beside(user, SCALA_ENUMERATION)
        if root is None or not str(held.getName()).startswith(f"{SCALA_ENUMERATION}$"):
            return
        for other in below(root, user):
            names, values = enumeration(other)
            self._add(
                self._class(
                    other,
                    "enum" if names else "unknown",
                    str(held.getName()),
                    constants=names,
                    misread=misread(kryo, values),
                )
            )

    def _directly(self, kryo: Java, cls: Java, under: str | None, depth: int) -> None:
        """A class as the serializer writes it that Kryo has for it."""
        if cls.isInterface():
            self._add(self._class(cls, "unknown", under))
            return
        try:
            by = kryo.getSerializer(cls)
        except jpype.JException:
            self._add(self._class(cls, "unknown", under))
            return
        name = class_name(by) or ""
        if name == _OF_FIELDS:
            fields = [member(one, "field") for one in by.getFields()]
            told = tuple(_generic(str(one.getName()), one.getType(), one.getGenericType(), True) for one in fields)
            only = one_only(cls)
            read = None if only is None else misread(kryo, [only])
            if self._add(self._class(cls, "fields", under, told, misread=read)):
                for one in fields:
                    for held in _classes_in(one.getGenericType()):
                        self._enumerations(kryo, cls, held)
                    self._typed(kryo, one.getGenericType(), depth + 1)
        elif name == _OF_RECORDS:
            parts = sorted(cls.getRecordComponents(), key=lambda part: str(part.getName()))
            told = tuple(_generic(str(one.getName()), one.getType(), one.getGenericType(), False) for one in parts)
            if self._add(self._class(cls, "fields", under, told)):
                for one in parts:
                    self._typed(kryo, one.getGenericType(), depth + 1)
        elif name == _OF_ITSELF:
            self._own_writing(cls, ("write", "read"), name, under)
        elif name in _OF_JAVA:
            told_by = java("java.io.ObjectStreamClass").lookupAny(cls)
            version = int(told_by.getSerialVersionUID())
            self._add(self._class(cls, "java", under, serializer=name, version=version))
        elif (classes := _mine(by.getClass())) is not None:
            own = _slashed(by.getClass())
            digest = Walk(classes.seen_from(own), own).methods(own, ("write", "read")).digest()
            self._add(self._class(cls, "code", under, serializer=name, digest=digest))
        else:
            self._add(self._class(cls, "unknown", under, serializer=name))


def _holds_any(kind: Java) -> bool:
    """True for a type that does not tell of which classes the values are that it holds: ``Object``, a raw list, ``List<?>``."""
    reflect = "java.lang.reflect."
    if isinstance(kind, java("java.lang.Class")):
        while kind.isArray():
            kind = kind.getComponentType()
        return str(kind.getName()) in _OF_ANYTHING or bool(len(kind.getTypeParameters()))
    if isinstance(kind, java(f"{reflect}ParameterizedType")):
        given = kind.getActualTypeArguments()
        return any(isinstance(one, java(f"{reflect}TypeVariable")) or _holds_any(one) for one in given)
    if isinstance(kind, java(f"{reflect}GenericArrayType")):
        return _holds_any(kind.getGenericComponentType())
    if isinstance(kind, java(f"{reflect}WildcardType")):
        return any(_holds_any(one) for one in kind.getUpperBounds())
    return False  # a lone type variable is reported with its class


def _mine(cls: Java) -> UserClasses | None:
    """The classes of the user's loader, if a class is one of the user's own."""
    loader = cls.getClassLoader()
    if loader is None or cls.isPrimitive() or cls.isArray():
        return None
    classes = classes_of(loader)
    return classes if classes.here(_slashed(cls)) else None


def _slashed(cls: Java) -> str:
    return str(cls.getName()).replace(".", "/")


def _enum(cls: Java) -> Java:
    """The enum that a class is, or that it is a constant's own class of; None for any other."""
    if cls.isEnum():
        return cls
    above = cls.getSuperclass()
    return above if above is not None and above.isEnum() else None


def _field(name: str, kind: Java) -> WrittenField:
    part = kind
    while part.isArray():
        part = part.getComponentType()
    fixed = part.isPrimitive() or bool(int(part.getModifiers()) & _FINAL) or part.isEnum()
    return WrittenField(name=name, type=str(kind.getTypeName()), fixed=fixed, above=_above(kind))


def _generic(name: str, cls: Java, kind: Java, shortened: bool) -> WrittenField:
    """A field with the types in angle brackets behind its own: ``shortened`` if values of final ones go without their class.

    That is how Kryo writes what is in the collections of a class, and not what is in those of a record.
    """
    told = _field(name, cls)
    if not isinstance(kind, java("java.lang.reflect.ParameterizedType")):
        return msgspec.structs.replace(told, given=())
    given = tuple(_argument(one, shortened) for one in kind.getActualTypeArguments())
    return msgspec.structs.replace(told, given=given)


def _argument(kind: Java, shortened: bool) -> WrittenField:
    if isinstance(kind, java("java.lang.reflect.ParameterizedType")):
        told = _generic("", kind.getRawType(), kind, shortened)
    elif isinstance(kind, java("java.lang.Class")):
        told = msgspec.structs.replace(_field("", kind), given=())
    else:
        return WrittenField(name="", type="java.lang.Object", given=())  # whatever its bounds are
    return told if shortened else msgspec.structs.replace(told, fixed=False)


def _above(kind: Java) -> tuple[str, ...] | None:
    """The classes above one; None for an interface, an array or a primitive type."""
    if kind.isInterface() or kind.isArray() or kind.isPrimitive():
        return None
    names = []
    while (kind := kind.getSuperclass()) is not None:
        names.append(str(kind.getName()))
    return tuple(names)


def _classes_in(kind: Java) -> Iterator[Java]:
    """The classes in the type of a field: its own, and those in angle brackets."""
    reflect = "java.lang.reflect."
    if isinstance(kind, java("java.lang.Class")):
        yield kind
    elif isinstance(kind, java(f"{reflect}ParameterizedType")):
        yield from _classes_in(kind.getRawType())
        for one in kind.getActualTypeArguments():
            yield from _classes_in(one)
    elif isinstance(kind, java(f"{reflect}GenericArrayType")):
        yield from _classes_in(kind.getGenericComponentType())
    elif isinstance(kind, java(f"{reflect}WildcardType")):
        for one in kind.getUpperBounds():
            yield from _classes_in(one)
    elif isinstance(kind, java(f"{reflect}TypeVariable")):
        for one in kind.getBounds():
            if isinstance(one, java("java.lang.Class")):
                yield one


def below(cls: Java, near: Java = None) -> Iterator[Java]:
    """The user's classes whose objects may be values of a declared class. They are from the same packages as ``near``,
    which is the class itself unless that belongs to a library.
    """
    near = cls if near is None else near
    classes = _mine(near)
    if classes is None or int(cls.getModifiers()) & _FINAL or cls.isEnum():
        return
    for name in classes.below(_slashed(cls), _slashed(near)):
        other = beside(near, name.replace("/", "."))
        if other is not None and not int(other.getModifiers()) & _ABSTRACT:
            yield other


def serializers_in(given: Java) -> Iterator[Java]:
    """The serializers within a serializer, recursively."""
    waiting, seen = [given], set[int]()
    while waiting and len(seen) < _CLASSES:
        for one in _serializers(waiting.pop()):
            identity = int(java("java.lang.System").identityHashCode(one))
            if identity not in seen:
                seen.add(identity)
                waiting.append(one)
                yield one


def _serializers(given: Java) -> Iterator[Java]:
    """The serializers in the fields of one."""
    for value in members(given):
        if value is None:
            continue
        if is_a(value, _SERIALIZER):
            yield value
            continue
        cls = value.getClass()
        if isinstance(value, java("java.util.Map")):
            value = value.values()
        elif not isinstance(value, java("java.util.Collection")) and not (
            cls.isArray() and not cls.getComponentType().isPrimitive()
        ):
            continue
        yield from (one for one in value if is_a(one, _SERIALIZER))
