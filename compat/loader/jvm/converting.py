"""Converts values written by OLD's classes to NEW's: reads, copies field by field, and writes them, in one JVM.

A value is read by the serializer that its header names, with OLD's classes if they are given. Its objects become
objects of NEW's classes of the same names, which NEW's serializer writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import jpype
import msgspec

from compat.loader.jvm.bridge import (
    FLINK,
    Java,
    array_of,
    byte_array,
    bytes_of,
    class_name,
    constant_name,
    described,
    flink,
    is_a,
    is_record,
    java,
    member,
    set_member,
)
from compat.loader.jvm.messages import Convert, Converted
from compat.loader.jvm.restore import Built, snapshots_of_kryo
from compat.loader.jvm.singletons import (
    SCALA_ENUM,
    SCALA_ENUMERATION,
    constants_of,
    enumeration,
    interfaces_of,
    one_only,
)

_COUNT = 4
_LEFT_OVER = "bytes are left over: another serializer wrote this than the header says"
_AVRO = "org.apache.avro.generic.GenericData$Array"
_TTL = "runtime.state.ttl.TtlValue"
_TUPLE = "api.java.tuple.Tuple"
_ROW = "types.Row"
_LEAVES = ("java.lang.", "java.math.", "java.time.", "java.net.URI", "java.util.UUID", "java.util.Date", "java.sql.")
"""The prefixes of classes whose objects contain no objects of other classes."""
_OF_ENUMERATION = ("$outer", "scala$Enumeration$$outerEnum")
"""The fields that hold a value of a Scala ``Enumeration``."""
_NUMBERS = {
    name: (f"java.lang.{boxed}", whole)
    for boxed, primitive, whole in (
        ("Byte", "byte", True),
        ("Short", "short", True),
        ("Integer", "int", True),
        ("Long", "long", True),
        ("Float", "float", False),
        ("Double", "double", False),
    )
    for name in (primitive, f"java.lang.{boxed}")
}
"""The number classes, by the names of the types that hold them, and whether they are whole."""


class Unfit(Exception):
    """A value that cannot become one of NEW's classes; the message says why."""


class Converters:
    """The converters of a job, each created once."""

    def __init__(self) -> None:
        self._made: dict[bytes, _Converter] = {}

    def convert(self, command: Convert, built: Built) -> Converted:
        """The answer to a command; with a failure if a value cannot be converted."""
        try:
            key = msgspec.json.encode(msgspec.structs.replace(command, values=()))
            if key not in self._made:
                self._made[key] = _Converter(command, built.loader)
            converter = self._made[key]
            if command.hashes:
                return Converted(hashes=tuple(map(converter.hash, command.values)))
            return Converted(values=tuple(converter.convert(command.values)))
        except Unfit as error:
            return Converted(failure=str(error))
        except RecursionError:
            return Converted(failure="a value holds nested objects with too many levels to be copied here")
        except jpype.JException as error:
            return Converted(failure=described(error))


class _Converter:
    """Reads values, copies their objects, and writes them."""

    def __init__(self, command: Convert, loader: Java) -> None:
        self._kind = command.kind
        self._loader = loader
        self._loader_of_old = _loader_of(command, loader)
        with _found_by(loader):
            self._new = self._part(_serializer(command.new, loader))
        with _found_by(self._loader_of_old):
            self._old = self._part(_serializer(command.old, self._loader_of_old)) if command.old else self._new
            self._keys: Java = _serializer(command.keys, self._loader_of_old) if command.keys else None
        self._copy = _Copying(command, loader, None if self._loader_of_old is loader else self._loader_of_old)
        self._in = _class("core.memory.DataInputDeserializer", self._loader_of_old)()
        self._out = flink("core.memory.DataOutputSerializer")(256)

    def _part(self, serializer: Java) -> Java:
        """The serializer of one value: of a list its elements', of a map its values'."""
        if self._kind == "LIST":
            return serializer.getElementSerializer()
        return serializer.getValueSerializer() if self._kind == "MAP" else serializer

    def convert(self, values: Sequence[bytes]) -> Iterator[bytes]:
        """Values anew. Serializers look for classes by the class loader of their thread: all are read, then all are written."""
        if self._keys is not None:
            yield from self._broadcast(values)
            return
        with _found_by(self._loader_of_old):
            read = [self._read(value) for value in values]
        with _found_by(self._loader):
            yield from map(self._written, read)

    def _broadcast(self, states: Sequence[bytes]) -> Iterator[bytes]:
        """All of some broadcast states (``HeapBroadcastState``): a count, then keys and values."""
        with _found_by(self._loader_of_old):
            read = [list(self._pairs(state)) for state in states]
        with _found_by(self._loader):
            for pairs in read:
                written = (key + self._one(value) for key, value in pairs)
                yield len(pairs).to_bytes(_COUNT, "big") + b"".join(written)

    def _pairs(self, data: bytes) -> Iterator[tuple[bytes, Java]]:
        """The keys of a broadcast state in their bytes, and its values. Raises Unfit where bytes are left over."""
        self._in.setBuffer(byte_array(data))
        for _ in range(int(self._in.readInt())):
            begin = len(data) - int(self._in.available())
            self._keys.deserialize(self._in)
            key = data[begin : len(data) - int(self._in.available())]
            yield key, self._old.deserialize(self._in)
        if int(self._in.available()):
            raise Unfit(_LEFT_OVER)

    def _read(self, data: bytes) -> list[Java] | None:
        """The objects of one entry: elements of lists have a comma between them, values of maps a mark before them."""
        marked = self._kind == "MAP"
        if marked and data[:1] != b"\0":
            return None
        self._in.setBuffer(byte_array(data[marked:]))
        found = [self._old.deserialize(self._in)]
        while int(self._in.available()):
            if self._kind != "LIST" or int(self._in.readByte()) != ord(","):
                raise Unfit(_LEFT_OVER)
            found.append(self._old.deserialize(self._in))
        return found

    def _written(self, found: list[Java] | None) -> bytes:
        if found is None:
            return b"\1"
        return (b"\0" if self._kind == "MAP" else b"") + b",".join(map(self._one, found))

    def _one(self, value: Java) -> bytes:
        self._out.clear()
        self._new.serialize(self._copy.of(value), self._out)
        return bytes_of(self._out.getCopyOfBuffer())

    def hash(self, data: bytes) -> int:
        """The hash code of a key of NEW's."""
        self._in.setBuffer(byte_array(data))
        key = self._new.deserialize(self._in)
        cls = key.getClass()
        if bool(cls.isEnum()) or str(cls.getMethod("hashCode").getDeclaringClass().getName()) == "java.lang.Object":
            raise Unfit(f"{cls.getName()} has another hash code in each process")
        return int(key.hashCode())


@contextmanager
def _found_by(loader: Java) -> Iterator[None]:
    """Have serializers look for classes by a class loader."""
    thread = java("java.lang.Thread").currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(loader)
    try:
        yield
    finally:
        thread.setContextClassLoader(before)


def _serializer(written: bytes, loader: Java) -> Java:
    """The serializer that a snapshot restores. Kryo's registers a class of Avro's, and a stand-in where there is none."""
    view = _class("core.memory.DataInputDeserializer", loader)(byte_array(written))
    snapshot = _class("api.common.typeutils.TypeSerializerSnapshot", loader).readVersionedSnapshot(view, loader)
    for kryo in snapshots_of_kryo(snapshot):
        missing = member(member(member(kryo, "snapshotData"), "kryoRegistrations"), "underlyingMap").get(_AVRO)
        if missing is not None and member(missing, "value") is None:
            set_member(missing, "key", java("java.lang.Class").forName("java.lang.Void"))
            set_member(missing, "value", _stand_in(loader))
    return snapshot.restoreSerializer()


def _class(name: str, loader: Java) -> Java:
    """A class of the Flink that a class loader has."""
    return jpype.JClass(FLINK + name, loader=loader)


def _stand_in(loader: Java) -> Java:
    """What Flink registers for Avro's arrays where Avro is not there."""
    generic = _class("api.java.typeutils.GenericTypeInfo", loader)(java("java.lang.Object").class_)
    config = _class("api.common.ExecutionConfig", loader)()
    made = generic.createSerializer(getattr(config, "getSerializerConfig", lambda: config)())
    return member(made, "kryoRegistrations").get(_AVRO)


def _loader_of(command: Convert, new: Java) -> Java:
    """The class loader of OLD's jars; that of NEW where there are none. A Flink of OLD's own is apart from that of NEW."""
    if not command.classpath:
        return new
    urls = [java("java.io.File")(path).toURI().toURL() for path in (*command.classpath, *command.flink)]
    system = java("java.lang.ClassLoader").getSystemClassLoader()
    parent = system.getParent() if command.flink else flink("api.common.JobID").class_.getClassLoader()
    return java("java.net.URLClassLoader")(array_of(java("java.net.URL"))(urls), parent)


Copy = Callable[[Java], Java]


class _Copying:
    """Objects of OLD's classes as such of NEW's. ``old`` is the class loader of OLD, None if it is that of NEW."""

    def __init__(self, command: Convert, loader: Java, old: Java) -> None:
        self._command = command
        self._loader = loader
        self._old = old
        self._copies: dict[str, Copy] = {}

    def of(self, value: Java) -> Java:
        """What a value is with NEW's classes."""
        if value is None or self._old is None:
            return value
        cls = value.getClass()
        name = str(cls.getName())
        if name not in self._copies:
            self._copies[name] = self._copy(cls, value)
        return self._copies[name](value)

    def _copy(self, cls: Java, value: Java) -> Copy:
        """What copies the objects of a class."""
        if bool(cls.isArray()):
            return _same if bool(cls.getComponentType().isPrimitive()) else self._array
        if str(cls.getName()).startswith(f"{SCALA_ENUMERATION}$"):
            return self._of_enumeration  # wherever Scala's library is: in a jar of OLD's, too
        if self._is_olds(cls):
            in_scala = any(str(one.getName()) == SCALA_ENUM for one in interfaces_of(cls))
            return self._of_scala_enum if in_scala and not value.productArity() else self._of_class(cls)
        if is_a(value, _TTL):
            made = flink(_TTL)
            return lambda one: made(self.of(one.getUserValue()), one.getLastAccessTimestamp())
        if is_a(value, _TUPLE, _ROW):
            return self._fields_by_place
        if isinstance(value, java("java.util.Collection")):
            return self._collection
        if isinstance(value, java("java.util.Map")):
            return self._map
        return _same if str(cls.getName()).startswith(_LEAVES) else self._of_library

    def _is_olds(self, cls: Java) -> bool:
        loader = cls.getClassLoader()
        return loader is not None and bool(loader.equals(self._old))

    def _class(self, cls: Java) -> Java:
        """NEW's class in place of one. Raises Unfit if NEW has none of its name."""
        if not self._is_olds(cls):
            return cls
        name = str(cls.getName())
        try:
            return java("java.lang.Class").forName(self._command.classes.get(name, name), True, self._loader)
        except jpype.JException:
            raise Unfit(f"NEW has no class {name}: rename it with rename-class, or drop the state") from None

    def _of_enumeration(self, value: Java) -> Java:
        """A value of an ``Enumeration`` of Scala, by its name: its number may be another one's now.

        The name is that which OLD's program has for the number: Kryo leaves out by what a value itself would tell it.
        """
        held = (field.get(value) for name, field in _fields_of(value.getClass()) if name in _OF_ENUMERATION)
        of = next((one.getClass() for one in held if one is not None), None)
        names = () if of is None else enumeration(of)[0]
        number = int(value.id())
        if of is None or not 0 <= number < len(names):
            raise Unfit("Kryo kept the number of a value of a Scala Enumeration, but not the Enumeration")
        new = self._class(of)
        return _named(new, names[number], {str(one.toString()): one for one in enumeration(new)[1]})

    def _of_scala_enum(self, value: Java) -> Java:
        """A constant of an ``enum`` of Scala 3, by its name."""
        cls = value.getClass()
        new = self._class(cls.getSuperclass() if bool(cls.isAnonymousClass()) else cls)
        return _named(new, str(value.productPrefix()), {str(one.productPrefix()): one for one in constants_of(new)})

    def _of_library(self, value: Java) -> Java:
        """An object of a class that both versions share. Raises Unfit for one that holds such of OLD's classes."""
        seen, waiting = set[int](), [value]
        identity = java("java.lang.System").identityHashCode
        while waiting:
            one = waiting.pop()
            cls = one.getClass()
            if self._is_olds(cls):
                raise Unfit(f"{class_name(value)} holds objects of {cls.getName()}, and cannot be converted here")
            if identity(one) in seen or str(cls.getName()).startswith(_LEAVES):
                continue
            seen.add(identity(one))
            if not bool(cls.isArray()):
                inner = [field.get(one) for field in _references(cls)]
            else:
                inner = [] if bool(cls.getComponentType().isPrimitive()) else list(one)
            waiting += [found for found in inner if found is not None]
        return value

    def _of_class(self, cls: Java) -> Copy:
        new = self._class(cls)
        if bool(cls.isEnum()) or (cls.getSuperclass() is not None and bool(cls.getSuperclass().isEnum())):
            return partial(_constant, java("java.lang.Enum"), new)
        only = one_only(new)
        if only is not None:
            return partial(_always, only)
        fields = list(self._fields(cls, new))
        if is_record(new):
            return _record(new, {str(target.getName()): get for target, get in fields})
        make = _maker(new)

        def copy(value: Java) -> Java:
            made = make()
            for target, get in fields:
                target.set(made, get(value))
            return made

        return copy

    def _fields(self, old: Java, new: Java) -> Iterator[tuple[Java, Copy]]:
        """The fields of NEW's class, each with what gives it from an object of OLD's: a field of that, or a constant."""
        command = self._command
        before, after = dict(_fields_of(old)), dict(_fields_of(new))
        used = set()
        for name, target in after.items():
            source = command.fields.get(name, name)
            if name in command.constants:
                yield target, partial(_always, _boxed(command.constants[name], target))
            elif source in before:
                used.add(source)
                yield target, partial(self._field, before[source], target)
            else:
                raise Unfit(f"{old.getName()} has no field {name}: say which it was, or give a constant")
        left = [name for name in before if name not in used and name not in command.without]
        if left:
            raise Unfit(f"{new.getName()} has no field for {', '.join(left)}: name it, or drop it")

    def _field(self, source: Java, target: Java, value: Java) -> Java:
        return _fitting(self.of(source.get(value)), target)

    def _array(self, value: Java) -> Java:
        component = self._class(value.getClass().getComponentType())
        made = java("java.lang.reflect.Array").newInstance(component, len(value))
        for place, one in enumerate(value):
            java("java.lang.reflect.Array").set(made, place, self.of(one))
        return made

    def _fields_by_place(self, value: Java) -> Java:
        made = value.copy() if is_a(value, _TUPLE) else flink(_ROW).copy(value)
        for place in range(int(value.getArity())):
            found = self.of(value.getField(place))
            if is_a(value, _ROW):
                made.setField(place, found)
            else:
                made.setField(found, place)
        return made

    def _collection(self, value: Java) -> Java:
        is_set = isinstance(value, java("java.util.Set"))
        made = _empty(value, "java.util.LinkedHashSet" if is_set else "java.util.ArrayList")
        for one in value:
            made.add(self.of(one))
        return made

    def _map(self, value: Java) -> Java:
        made = _empty(value, "java.util.LinkedHashMap")
        for entry in value.entrySet():
            made.put(self.of(entry.getKey()), self.of(entry.getValue()))
        return made


def _same(value: Java) -> Java:
    return value


def _always(constant: Java, value: Java) -> Java:
    return constant


def _record(cls: Java, fields: Mapping[str, Copy]) -> Copy:
    """What makes a record of Java, by its constructor, of what its fields are given."""
    parts = list(cls.getRecordComponents())
    constructor = cls.getDeclaredConstructor([part.getType() for part in parts])
    constructor.setAccessible(True)
    given = [fields[str(part.getName())] for part in parts]
    return lambda value: constructor.newInstance([get(value) for get in given])


def _constant(enum: Java, new: Java, value: Java) -> Java:
    name = constant_name(value)
    try:
        return enum.valueOf(new, name)
    except jpype.JException:
        raise Unfit(f"{new.getName()} has no constant {name}") from None


def _named(cls: Java, name: str, values: Mapping[str, Java]) -> Java:
    if name not in values:
        raise Unfit(f"{cls.getName()} has no constant {name}")
    return values[name]


def _references(cls: Java) -> Iterator[Java]:
    """The fields of a class that hold objects. Raises Unfit if the JVM does not let anybody look."""
    try:
        yield from (field for _, field in _fields_of(cls) if not bool(field.getType().isPrimitive()))
    except jpype.JException:
        raise Unfit(
            f"{cls.getName()} does not give access to its fields, and may hold objects of your classes"
        ) from None


def _empty(value: Java, otherwise: str) -> Java:
    """An empty collection of the class of another one; of a usual class where that cannot be made empty."""
    try:
        return value.getClass().getDeclaredConstructor().newInstance()
    except jpype.JException:
        return java(otherwise)()


def _maker(cls: Java) -> Callable[[], Java]:
    """What makes objects of a class: its constructor without arguments, or without any, as Kryo does."""
    try:
        constructor = cls.getDeclaredConstructor()
        constructor.setAccessible(True)
        return lambda: constructor.newInstance()
    except jpype.JException:
        unsafe = java("java.lang.Class").forName("sun.misc.Unsafe").getDeclaredField("theUnsafe")
        unsafe.setAccessible(True)
        return partial(unsafe.get(None).allocateInstance, cls)


def _fields_of(cls: Java) -> Iterator[tuple[str, Java]]:
    """The fields that serializers write: those of objects that are not transient, by their names."""
    modifier = java("java.lang.reflect.Modifier")
    while cls is not None:
        for field in cls.getDeclaredFields():
            flags = field.getModifiers()
            if not (modifier.isStatic(flags) or modifier.isTransient(flags)):
                field.setAccessible(True)
                yield str(field.getName()), field
        cls = cls.getSuperclass()


def _boxed(constant: object, field: Java) -> Java:
    """A constant of a recipe for a field."""
    if isinstance(constant, bool):
        return java("java.lang.Boolean").valueOf(constant)
    if isinstance(constant, str):
        return java("java.lang.String")(constant)
    if constant is None:
        return None
    return _number(str(field.getType().getName()), constant, constant)


def _fitting(value: Java, field: Java) -> Java:
    """A value for a field: a number in the class of the field's. Raises Unfit if it would be another one."""
    wanted = str(field.getType().getName())
    if value is None or wanted not in _NUMBERS or class_name(value) == _NUMBERS[wanted][0]:
        return value
    if not isinstance(value, java("java.lang.Number")):
        raise Unfit(f"field {field.getName()}: {value} is no number")
    whole = class_name(value) not in ("java.lang.Float", "java.lang.Double")
    return _number(wanted, int(value.longValue()) if whole else float(value.doubleValue()), value)


def _number(wanted: str, number: object, told: object) -> Java:
    found = _NUMBERS.get(wanted)
    if found is None or not isinstance(number, int | float):
        raise Unfit(f"{told} does not go into a field of {wanted}")
    name, whole = found
    if whole and number != int(number):
        raise Unfit(f"{told} is no whole number")
    try:
        made = java(name).valueOf(str(int(number) if whole else float(number)))
    except jpype.JException:
        raise Unfit(f"{told} does not fit into {wanted}") from None
    if not whole and float(made.doubleValue()) != float(number):
        raise Unfit(f"{told} is not exact in {wanted}")
    return made
