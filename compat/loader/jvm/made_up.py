"""Makes up values of a serializer's type or of a class, in which no two fields are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

import jpype

from compat.loader.jvm.bridge import Java, is_a, is_record, java, member
from compat.loader.jvm.classes import below
from compat.loader.jvm.keys import NoSample, pojo_of

_RUNTIME = "api.java.typeutils.runtime."
_BASE = "api.common.typeutils.base."
_REFLECT = "java.lang.reflect."
_STATIC, _TRANSIENT, _ABSTRACT = 0x0008, 0x0080, 0x0400
_DEPTH = 8
_FROM, _UP_TO = 3, 120
"""The numbers that are drawn fit into a byte."""

_BY_LONG = {
    "java.time.LocalDate": "ofEpochDay",
    "java.time.LocalTime": "ofSecondOfDay",
    "java.time.Instant": "ofEpochSecond",
    "java.time.Duration": "ofSeconds",
    "java.math.BigInteger": "valueOf",
    "java.math.BigDecimal": "valueOf",
}
_OF_LONG = (
    "java.util.Date",
    "java.sql.Date",
    "java.sql.Time",
    "java.sql.Timestamp",
    "java.util.concurrent.atomic.AtomicLong",
)
_BOXES = {
    "long": "Long",
    "int": "Integer",
    "short": "Short",
    "byte": "Byte",
    "double": "Double",
    "float": "Float",
    "boolean": "Boolean",
    "char": "Character",
}
_WIDENED: Mapping[str, Callable[[int], float]] = {
    "Short": lambda one: one * 257,
    "Integer": lambda one: one * 16_777_259,
    "Long": lambda one: one * 72_057_594_037_927_931,
    "Float": lambda one: one + 0.5,
    "Double": lambda one: one + 0.25,
}
"""The factor that makes every byte of a number matter."""
_STAND_INS = (
    ("java.util.Map", "java.util.HashMap"),
    ("java.util.SortedMap", "java.util.TreeMap"),
    ("java.util.Set", "java.util.LinkedHashSet"),
    ("java.util.SortedSet", "java.util.TreeSet"),
    ("java.util.Deque", "java.util.ArrayDeque"),
    ("java.util.Queue", "java.util.ArrayDeque"),
    ("java.util.List", "java.util.ArrayList"),
    ("java.util.Collection", "java.util.ArrayList"),
    ("java.lang.Iterable", "java.util.ArrayList"),
)

Bound = Mapping[str, Java]
"""The type used for the type variables of a class."""


class MadeUp:
    """Makes up values. ``whole`` says whether all fields could be filled so far; others have the class's default."""

    def __init__(self, seed: int) -> None:
        self._numbers = count(_FROM + 37 * seed)
        self._sign = -1 if seed % 2 else 1
        self.whole = True

    def by(self, serializer: Java, depth: int = 0) -> Java:
        """A value that a serializer writes. Raises NoSample if none can be made up."""
        if depth > _DEPTH:
            raise NoSample
        if (found := self._of_flink(serializer, depth)) is not None:
            return found
        made = serializer.createInstance()
        if made is None:
            raise NoSample
        cls = made.getClass()
        is_plain = not (_of_java(cls) or cls.isArray() or cls.isEnum() or is_record(cls))
        return self._filled(made, {}, depth) if is_plain else self._of_class(cls, (), depth)

    def of(self, kind: Java, bound: Bound, depth: int = 0) -> Java:
        """A value of a type of Java's reflection. Raises NoSample."""
        if depth > _DEPTH:
            raise NoSample
        if isinstance(kind, java("java.lang.Class")):
            return self._of_class(kind, (), depth)
        if isinstance(kind, java(f"{_REFLECT}ParameterizedType")):
            given = tuple(_resolved(one, bound) for one in kind.getActualTypeArguments())
            return self._of_class(kind.getRawType(), given, depth)
        if isinstance(kind, java(f"{_REFLECT}WildcardType")):
            return self.of(kind.getUpperBounds()[0], bound, depth)
        if isinstance(kind, java(f"{_REFLECT}GenericArrayType")):
            return self._array(java("java.lang.Object").class_, kind.getGenericComponentType(), bound, depth)
        told = _resolved(kind, bound)
        if told is kind or isinstance(told, java(f"{_REFLECT}TypeVariable")):
            return self._text()
        return self.of(told, bound, depth)

    def number(self) -> int:
        """The next number; they come again after more than a hundred."""
        return _FROM + (next(self._numbers) - _FROM) % (_UP_TO - _FROM)

    def _text(self) -> Java:
        return java("java.lang.String")(f"text {self.number()}")

    def _of_flink(self, serializer: Java, depth: int) -> Java:
        """A value by one of Flink's serializers that are made of others; None for any other serializer."""

        def inner(field: str) -> Java:
            return self.by(member(serializer, field), depth + 1)

        if is_a(serializer, f"{_RUNTIME}PojoSerializer"):
            return pojo_of(serializer, [self.by(one, depth + 1) for one in member(serializer, "fieldSerializers")])
        if is_a(serializer, f"{_RUNTIME}TupleSerializerBase"):
            values = [self.by(one, depth + 1) for one in member(serializer, "fieldSerializers")]
            return serializer.createInstance(jpype.JArray(java("java.lang.Object"))(values))
        if is_a(serializer, f"{_RUNTIME}kryo.KryoSerializer"):
            return self._of_class(member(serializer, "type"), (), depth)
        if is_a(serializer, f"{_BASE}EnumSerializer"):
            return self._constant(member(serializer, "enumClass"))
        if is_a(serializer, f"{_BASE}ListSerializer"):
            return _collected(java("java.util.ArrayList")(), [inner("elementSerializer") for _ in range(2)])
        if is_a(serializer, f"{_BASE}SetSerializer"):
            return _collected(java("java.util.HashSet")(), [inner("elementSerializer") for _ in range(2)])
        if is_a(serializer, f"{_BASE}MapSerializer"):
            made = java("java.util.HashMap")()
            made.put(inner("keySerializer"), inner("valueSerializer"))
            return made
        if is_a(serializer, f"{_RUNTIME}NullableSerializer"):
            return inner("originalSerializer")
        if is_a(serializer, f"{_RUNTIME}EitherSerializer"):
            return java("org.apache.flink.types.Either").Left(inner("leftSerializer"))
        if is_a(serializer, f"{_BASE}GenericArraySerializer"):
            made = java(f"{_REFLECT}Array").newInstance(member(serializer, "componentClass"), 2)
            for place in range(2):
                java(f"{_REFLECT}Array").set(made, place, inner("componentSerializer"))
            return made
        if is_a(serializer, f"{_RUNTIME}RowSerializer"):
            return self._row(serializer, depth)
        if is_a(serializer, "streaming.api.operators.co.IntervalJoinOperator$BufferEntrySerializer"):
            entry = java("java.lang.Class").forName(
                "org.apache.flink.streaming.api.operators.co.IntervalJoinOperator$BufferEntry",
                True,
                serializer.getClass().getClassLoader(),
            )
            constructor = entry.getDeclaredConstructors()[0]
            constructor.setAccessible(True)
            return constructor.newInstance([inner("elementSerializer"), java("java.lang.Boolean").FALSE])
        if is_a(serializer, "runtime.state.ttl.TtlStateFactory$TtlSerializer"):
            value = self.by(member(serializer, "fieldSerializers")[1], depth + 1)
            return java("org.apache.flink.runtime.state.ttl.TtlValue")(
                value, java("java.lang.System").currentTimeMillis()
            )
        if is_a(serializer, "streaming.api.windowing.windows.TimeWindow$Serializer"):
            return java("org.apache.flink.streaming.api.windowing.windows.TimeWindow")(0, self.number())
        return None

    def _row(self, serializer: Java, depth: int) -> Java:
        fields = member(serializer, "fieldSerializers")
        made = serializer.createInstance()
        for place, one in enumerate(fields):
            made.setField(place, self.by(one, depth + 1))
        return made

    def _of_class(self, cls: Java, given: tuple[Java, ...], depth: int) -> Java:
        """A value of a class, or of one below it; ``given`` are its type arguments."""
        name = str(cls.getName())
        if (found := self._of_library(cls, name, given, depth)) is not None:
            return found
        if cls.isEnum():
            return self._constant(cls)
        if cls.isArray():
            return self._array(cls.getComponentType(), cls.getComponentType(), {}, depth)
        if _of_java(cls):
            raise NoSample
        if is_record(cls):
            return self._record(cls, given, depth)
        if cls.isInterface() or int(cls.getModifiers()) & _ABSTRACT:
            other = next(below(cls), None)
            if other is None:
                raise NoSample
            return self._of_class(other, (), depth + 1)
        return self._filled(_instance(cls), _bound(cls, given), depth)

    def _of_library(self, cls: Java, name: str, given: tuple[Java, ...], depth: int) -> Java:
        """A value of one of Java's classes; None for any other, and for those of which none is made up here."""
        simple = _BOXES.get(name) or name.removeprefix("java.lang.")
        if simple == "Boolean":
            return java("java.lang.Boolean").TRUE
        if simple == "Character":
            return java("java.lang.Character").valueOf(chr(ord("a") + self.number() % 26))
        if simple in _BOXES.values():
            return java(f"java.lang.{simple}").valueOf(str(_WIDENED.get(simple, int)(self.number() * self._sign)))
        if name in ("java.lang.String", "java.lang.Object", "java.lang.CharSequence", "java.lang.Comparable"):
            return self._text()
        if name in _BY_LONG:
            return getattr(java(name), _BY_LONG[name])(jpype.JLong(self.number()))
        if name in _OF_LONG:
            return java(name)(jpype.JLong(1000 * self.number()))
        if name == "java.time.LocalDateTime":
            return java(name).ofEpochSecond(self.number(), 0, java("java.time.ZoneOffset").UTC)
        if name == "java.util.UUID":
            return java(name)(self.number(), self.number())
        if name == "java.net.URI":
            return java(name).create(f"http://host/{self.number()}")
        if name == "java.util.Optional":
            return java(name).of(self._argument(given, 0, depth))
        if java("java.util.Map").class_.isAssignableFrom(cls) or java("java.lang.Iterable").class_.isAssignableFrom(
            cls
        ):
            return self._collection(cls, given, depth) if _of_java(cls) else None
        return None

    def _argument(self, given: tuple[Java, ...], place: int, depth: int) -> Java:
        return self.of(given[place], {}, depth + 1) if place < len(given) else self._text()

    def _collection(self, cls: Java, given: tuple[Java, ...], depth: int) -> Java:
        made = _instance(_stand_in(cls))
        if isinstance(made, java("java.util.Map")):
            made.put(self._argument(given, 0, depth), self._argument(given, 1, depth))
            return made
        return _collected(made, [self._argument(given, 0, depth) for _ in range(2)])

    def _array(self, cls: Java, component: Java, bound: Bound, depth: int) -> Java:
        arrays = java(f"{_REFLECT}Array")
        made = arrays.newInstance(cls, 2)
        for place in range(2):
            arrays.set(made, place, self.of(component, bound, depth + 1))
        return made

    def _constant(self, cls: Java) -> Java:
        constants = cls.getEnumConstants()
        if not len(constants):
            raise NoSample
        return constants[self.number() % len(constants)]

    def _record(self, cls: Java, given: tuple[Java, ...], depth: int) -> Java:
        parts = list(cls.getRecordComponents())
        bound = _bound(cls, given)
        constructor = cls.getDeclaredConstructor([part.getType() for part in parts])
        constructor.setAccessible(True)
        return constructor.newInstance([self.of(part.getGenericType(), bound, depth + 1) for part in parts])

    def _filled(self, made: Java, bound: Bound, depth: int) -> Java:
        """An object with a value in each field that its serializer may write; where none can be made, the field stays."""
        for field in instance_fields(made.getClass()):
            try:
                field.setAccessible(True)
                field.set(made, self.of(field.getGenericType(), bound, depth + 1))
            except (NoSample, jpype.JException):
                self.whole = False
        return made


def instance_fields(cls: Java) -> Iterator[Java]:
    """The fields of an object of a class, and of those above it, that are neither transient nor made by the compiler."""
    while cls is not None:
        for field in cls.getDeclaredFields():
            if not int(field.getModifiers()) & (_STATIC | _TRANSIENT) and not field.isSynthetic():
                yield field
        cls = cls.getSuperclass()


def _collected(made: Java, values: Iterable[Java]) -> Java:
    for one in values:
        made.add(one)
    return made


def _resolved(kind: Java, bound: Bound) -> Java:
    """What a type variable stands for, where that is known; any other type as it is."""
    if isinstance(kind, java(f"{_REFLECT}TypeVariable")):
        return bound.get(str(kind.getName()), kind)
    return kind


def _bound(cls: Java, given: tuple[Java, ...]) -> Bound:
    return dict(zip((str(one.getName()) for one in cls.getTypeParameters()), given, strict=False))


def _stand_in(cls: Java) -> Java:
    """A class of which there are objects, for one of Java's own kinds of collections."""
    if not cls.isInterface() and not int(cls.getModifiers()) & _ABSTRACT:
        return cls
    for name, other in _STAND_INS:
        if str(cls.getName()) == name:
            return java(other).class_
    raise NoSample


def _of_java(cls: Java) -> bool:
    return str(cls.getName()).startswith(("java.", "javax.", "jdk.", "scala.", "kotlin."))


def _instance(cls: Java) -> Java:
    """An object of a class: by its constructor without parameters, and by none if there is no such."""
    try:
        constructor = cls.getDeclaredConstructor()
        constructor.setAccessible(True)
        return constructor.newInstance()
    except jpype.JException:
        if _of_java(cls):
            raise NoSample from None
    unsafe = java("java.lang.Class").forName("sun.misc.Unsafe").getDeclaredField("theUnsafe")
    unsafe.setAccessible(True)
    return unsafe.get(None).allocateInstance(cls)
