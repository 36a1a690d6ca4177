"""Indivisible types: basic, temporal, pickled and opaque ones."""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from compat.state.time import Instant
from compat.state.types.base import ImmutableTypeInformation


class BasicType(Enum):
    """The basic types; the value is PyFlink's spelling."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(ImmutableTypeInformation):
    """A number, a text, a truth value or an instant (Flink: ``BasicTypeInfo``)."""

    __slots__ = ("basic_type",)

    basic_type: BasicType

    def __init__(self, basic_type: BasicType) -> None:
        self._set(basic_type=basic_type)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.basic_type.name

    def parts(self) -> tuple[Any, ...]:
        return (self.basic_type.name,)

    def __str__(self) -> str:
        return "Character" if self.basic_type is BasicType.CHAR else self.basic_type.value

    def __repr__(self) -> str:
        return self.basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["STRING"]

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["BOOLEAN"]

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["BYTE"]

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["SHORT"]

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["INT"]

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["LONG"]

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["FLOAT"]

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["DOUBLE"]

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["CHAR"]

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["BIG_INT"]

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["BIG_DEC"]

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        return BASIC_TYPES["INSTANT"]


class InstantTypeInfo(BasicTypeInfo):
    """A point in time, stored as microseconds since 1970, exact to the millisecond."""

    __slots__ = ()

    def __init__(self, basic_type: BasicType) -> None:
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


BASIC_TYPES: dict[str, BasicTypeInfo] = {
    basic.name: InstantTypeInfo(basic) if basic is BasicType.INSTANT else BasicTypeInfo(basic) for basic in BasicType
}


class SqlTimeTypeInfo(ImmutableTypeInformation):
    """A date, a time of day or a timestamp without zone (Flink: ``SqlTimeTypeInfo``)."""

    __slots__ = ()

    @staticmethod
    def DATE() -> DateTypeInfo:
        return _DATE

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return _TIME

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return _TIMESTAMP

    def need_conversion(self) -> bool:
        return True


class DateTypeInfo(SqlTimeTypeInfo):
    """``datetime.date``, stored as days since 1970-01-01."""

    __slots__ = ()
    kind: ClassVar[str] = "SQL_DATE"
    EPOCH_ORDINAL: ClassVar[int] = 719_163

    def to_internal_type(self, d: Any) -> Any:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: Any) -> Any:
        from datetime import date

        return None if v is None else date.fromordinal(v + self.EPOCH_ORDINAL)

    def __str__(self) -> str:
        return "Date"

    def __repr__(self) -> str:
        return "DateTypeInfo"


class TimeTypeInfo(SqlTimeTypeInfo):
    """``datetime.time``, stored as microseconds since midnight (of UTC where the value has an offset)."""

    __slots__ = ()
    kind: ClassVar[str] = "SQL_TIME"
    EPOCH_ORDINAL: ClassVar[int] = 0

    def to_internal_type(self, t: Any) -> Any:
        if t is None:
            return None
        offset = t.utcoffset()
        shift = 0 if offset is None else (offset.days * 86_400 + offset.seconds) * 1_000_000 + offset.microseconds
        return ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond - shift

    def from_internal_type(self, t: Any) -> Any:
        from datetime import time

        if t is None:
            return None
        seconds, microseconds = divmod(t, 1_000_000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return time(hours % 24, minutes, seconds, microseconds)

    def __str__(self) -> str:
        return "Time"

    def __repr__(self) -> str:
        return "TimeTypeInfo"


class TimestampTypeInfo(SqlTimeTypeInfo):
    """``datetime.datetime``, stored as microseconds since 1970-01-01.

    A value without a zone is counted as if it were UTC, so that what is stored does not depend on the machine's zone.
    """

    __slots__ = ()
    kind: ClassVar[str] = "SQL_TIMESTAMP"

    def to_internal_type(self, dt: Any) -> Any:
        from datetime import UTC, datetime, timedelta

        if dt is None:
            return None
        aware = dt.replace(tzinfo=UTC) if dt.tzinfo is None else dt
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    def from_internal_type(self, ts: Any) -> Any:
        from datetime import datetime, timedelta

        return None if ts is None else datetime(1970, 1, 1) + timedelta(microseconds=ts)

    def __str__(self) -> str:
        return "Timestamp"

    def __repr__(self) -> str:
        return "TimestampTypeInfo"


_DATE = DateTypeInfo()
_TIME = TimeTypeInfo()
_TIMESTAMP = TimestampTypeInfo()


class LocalTimeTypeInfo(ImmutableTypeInformation):
    """Java's ``LocalDate``, ``LocalTime`` and ``LocalDateTime`` (Flink: ``LocalTimeTypeInfo``)."""

    __slots__ = ("time_type",)

    class TimeType(Enum):
        """The three types."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    time_type: TimeType

    def __init__(self, time_type: TimeType) -> None:
        self._set(time_type=time_type)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.time_type.name

    def parts(self) -> tuple[Any, ...]:
        return (self.time_type.name,)

    def __str__(self) -> str:
        return self.time_type.name.title().replace("_", "")

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self.time_type.name}>"


class PickledBytesTypeInfo(ImmutableTypeInformation):
    """Any Python object, as the bytes that pickle makes of it (Flink: ``PickledByteArrayTypeInfo``).

    The type of everything that a program gives no type.
    """

    __slots__ = ()
    kind: ClassVar[str] = "PICKLED_BYTE_ARRAY"

    def __str__(self) -> str:
        return "PickledByteArrayTypeInfo"


class OpaqueTypeInfo(ImmutableTypeInformation):
    """A type known only by its name, such as a Java class in a savepoint or a topology file."""

    __slots__ = ("name",)
    kind: ClassVar[str] = "OPAQUE"

    name: str

    def __init__(self, name: str) -> None:
        self._set(name=name)

    def parts(self) -> tuple[Any, ...]:
        return (self.name,)

    def to_json(self) -> Any:
        return {"type": self.kind, "name": self.name}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"OpaqueTypeInfo({self.name!r})"
