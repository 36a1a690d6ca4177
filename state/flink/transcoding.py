"""Converts values of one form to the bytes of another one.

Equal parts stay byte for byte. Numbers, texts, enums and moments are converted into each other without loss: a number that does
not fit is an error, never another number. Records (tuples, rows, POJOs) are converted field by field. Conversions without a
rule are refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader
from compat.state.flink.contents import DELIMITER
from compat.state.flink.entry_conversion import Layouts, MapKeys, Rewrite, one_by_one
from compat.state.flink.forms import (
    ROW_DATA,
    Convert,
    Form,
    Layout,
    NeedsClass,
    Transcode,
    Unconvertible,
    alone,
    bytes_of,
    form_of,
)
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import KEYS, KIND, MODE, PARTS, VALUES, StateMeta
from compat.state.flink.row_data import read_row, slot_of, write_row
from compat.state.flink.snapshots import SerializerSnapshot, in_header, out_of_header, read_versioned
from compat.state.flink.values import read_mask, ttl_inside
from compat.state.flink.writing import write_mask

Constant = bool | int | float | str | None

_INTEGERS = "org.apache.flink.api.common.typeutils.base.IntSerializer"
_COUNT = _INT = struct.Struct(">i")
_TIME = struct.Struct(">q")
_BROADCAST = "BROADCAST"
_NO_SUBCLASS = 2


OF_ROW = "row."
"""Stands before a field of a row of SQL beside which OLD keeps a number that goes."""


class Fields(Struct, frozen=True):
    """The fields of a record: by NEW's names those that they are of OLD, constants for what OLD has not, and OLD's that go.

    If one of them is a single value instead of a record, ``single`` is the field of the other one that corresponds to it. The
    constant of a field that OLD had replaces a null. If a row of SQL is such a value, or has one, the names of OLD's fields
    begin with `OF_ROW`.
    """

    sources: Mapping[str, str] = {}
    constants: Mapping[str, Constant] = {}
    dropped: frozenset[str] = frozenset()
    single: str | None = None

    @property
    def filled(self) -> frozenset[str]:
        """The fields of NEW that are constants if OLD has null."""
        return frozenset(self.sources.keys() & self.constants.keys())

    @property
    def of_row(self) -> Fields:
        """What is said of the row of SQL that is the single value, or has it."""
        sources = {name: one.removeprefix(OF_ROW) for name, one in self.sources.items() if one.startswith(OF_ROW)}
        dropped = frozenset(one.removeprefix(OF_ROW) for one in self.dropped if one.startswith(OF_ROW))
        return Fields(sources, self.constants, dropped)

    @property
    def around_row(self) -> Fields:
        """The rest: what is said of what is around it."""
        sources = {name: one for name, one in self.sources.items() if not one.startswith(OF_ROW)}
        dropped = frozenset(one for one in self.dropped if not one.startswith(OF_ROW))
        return Fields(sources, {}, dropped, self.single)

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """Of fields of NEW those that OLD has, with what they are there."""
        return {
            name: self.sources.get(name, name) for name in names if name in self.sources or name not in self.constants
        }

    def require_unfilled(self) -> None:
        """Raise Unconvertible where constants stand in place of nulls: only rows of SQL are written so."""
        if self.filled:
            raise Unconvertible(f"{', '.join(self.filled)} has a constant and a field: rows of SQL alone are filled")


class Classes(Protocol):
    """The classes of OLD and NEW, which read and write values that cannot be read here. All raise Unconvertible."""

    def convert(
        self, old: bytes, new: bytes, kind: str, fields: Fields, values: Sequence[bytes], keys: bytes = b""
    ) -> list[bytes]:
        """Values of a state of some kind, read by one serializer and written by another one.

        Those of a ``BROADCAST`` one are all of it, with the serializer of its ``keys``, which stay.
        """

    def hashes(self, serializer: bytes, keys: Sequence[bytes]) -> list[int]:
        """The hash codes of keys."""


Join = Callable[[Form, Form, Fields], Transcode]
"""Gives the function that writes values of one form in another. Raises Unconvertible."""


class SerializerConversion(Struct, frozen=True):
    """The values of a state as another serializer of Flink's writes them, which may be those of another kind of state.

    ``serializer`` is its snapshot as `writeVersionedSnapshot` gives it, ``options`` are the changed options of the header (see
    `KIND`, `MODE`), ``fields`` the changes of records' fields. Values without a time of last use get ``now``, in milliseconds.
    ``entry`` is the key in a map for a former single value. ``classes`` write values that cannot be read here; for them
    ``keys`` is the serializer of a broadcast state's keys.
    """

    serializer: bytes
    fields: Fields = Fields()
    options: Mapping[str, str] = {}
    now: int = 0
    entry: Constant = None
    classes: Classes | None = None
    keys: bytes | None = None

    @property
    def form(self) -> StateForm:
        """The snapshot as a header has it (`TypeSerializerSnapshotSerializationUtil`), and the kind."""
        return StateForm(in_header(self.serializer), self.options)

    def rewriter(self, meta: StateMeta, serializer: bytes, layout: Layouts) -> Rewrite:
        """The function that rewrites the entries of a keyed state. Raises Unconvertible."""
        return one_by_one(self.converter(meta, serializer), self.map_keys(meta), layout)

    def map_keys(self, meta: StateMeta) -> MapKeys | None:
        """The function that rewrites the key in a map; None if it stays. Raises Unconvertible."""
        old, new = meta.serializer(VALUES), self._new
        if self.options.get(KIND) != "MAP" or old is None:
            return None
        if self.entry is not None:
            key = _constant(self.entry, form_of(new.nested[0])) or b""
            return MapKeys(lambda reader: key)
        before, after = old.nested[0], new.nested[0]
        fields = self.fields if self._are_of_keys(old, new) else Fields()
        if self._has_row(new):
            fields = self.fields.of_row
        if before == after and fields == Fields():
            return None
        return MapKeys(transcoder(form_of(before), form_of(after), fields), _merging(new))

    @property
    def places(self) -> tuple[int | None, ...] | None:
        """For each field of NEW's rows of SQL the place of OLD's that it is, by their numbers; None for constants.

        None if it keeps no such rows, or its fields have names.
        """
        found = _rows_in(self._new)
        if found is None:
            return None
        row = form_of(found)
        given = (self.fields if self.fields.single is None else self.fields.of_row).of(row.names)
        if any(not re.fullmatch(r"f\d+", source) for source in given.values()):
            return None
        return tuple(int(given[name][1:]) if name in given else None for name in row.names)

    @property
    def filled(self) -> frozenset[int]:
        """The fields of NEW's rows of SQL that are constants where OLD has null, by their numbers."""
        return frozenset(int(name[1:]) for name in self.fields.filled if re.fullmatch(r"f\d+", name))

    @property
    def _new(self) -> SerializerSnapshot:
        return read_versioned(ByteReader(self.serializer, "NEW's serializer"), 0)

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """The function that rewrites the values of a state. Raises Unconvertible."""
        old = meta.serializer(VALUES)
        if old is None:
            raise Unconvertible("a state without a serializer")
        by_classes = self._by(self.classes, meta, out_of_header(serializer))
        try:
            one = self.joined(meta, old, transcoder)
        except NeedsClass:
            if by_classes is None:
                raise
            return by_classes

        def convert(values: Sequence[bytes]) -> list[bytes]:
            try:
                return [one(value) for value in values]
            except NeedsClass:
                if by_classes is None:
                    raise
                return by_classes(values)

        return convert

    def _by(self, classes: Classes | None, meta: StateMeta, old: bytes) -> Convert | None:
        """What writes the values by classes of the program; None if they do not, as for another kind."""
        kind = meta.option(KIND) or "VALUE"
        if classes is None or self.options.get(KIND, kind) != kind:
            return None
        if meta.type != _BROADCAST:
            return lambda values: classes.convert(old, self.serializer, kind, self.fields, values)
        keys = self.keys
        if keys is None or read_versioned(ByteReader(keys, "NEW's serializer of keys"), 0) != meta.serializer(KEYS):
            return None
        return lambda values: classes.convert(old, self.serializer, _BROADCAST, self.fields, values, keys)

    def joined(self, meta: StateMeta, old: SerializerSnapshot, join: Join) -> Callable[[bytes], bytes]:
        """What writes all that a state has under a key, where ``join`` gives what writes one value. Raises Unconvertible."""
        new = self._new
        if (meta.type == _BROADCAST) is not (self.options.get(MODE, meta.type) == _BROADCAST):
            raise Unconvertible("a broadcast state becomes no list, and a list no broadcast state")
        if meta.type == "OPERATOR":
            return exactly(join(form_of(old), form_of(new), self.fields), "an element")
        if meta.type == _BROADCAST:
            return _broadcast(meta, join(form_of(old), form_of(new), self.fields))
        kind = meta.option(KIND) or "VALUE"
        kind_now = self.options.get(KIND, kind)
        before, form, after, form_now = held_forms(kind, old, kind_now, new)
        if before.kind != after.kind and (before.kind == "MAP" or (after.kind == "MAP" and self.entry is None)):
            raise Unconvertible(
                "entries of a map become no single value, and a value no entry, unless `entry` is its key"
            )
        of_keys = kind == kind_now == "MAP" and self._are_of_keys(old, new)
        fields = Fields() if of_keys else self.fields
        if kind == kind_now == "MAP" and self._has_row(new):
            fields = self.fields.around_row
        return in_state(before, after, join(form, form_now, fields), self.now)

    def _has_row(self, new: SerializerSnapshot) -> bool:
        """Whether a map's keys are rows of SQL, and of its values one of two things stays."""
        key, value = new.nested
        return self.fields.single is not None and key.serializer == ROW_DATA and _rows_in(value) is None

    def _are_of_keys(self, old: SerializerSnapshot, new: SerializerSnapshot) -> bool:
        """Whether fields are those of a map's keys: where only these are rows of SQL, or else where they are what changes."""
        key, value = new.nested
        if self.fields.single is not None or _rows_in(value) is not None:
            return False
        return _rows_in(key) is not None or old.nested[0] != key


def _merging(new: SerializerSnapshot) -> Callable[[bytes, bytes], bytes] | None:
    """What makes one of the values of two rows of a join that have become equal; None for other maps.

    A join keeps for each row how often it came. An outer join also keeps, after that, the number of matching rows of the other
    side, which is the same for both (Flink: `OuterJoinRecordStateViews`).
    """
    row, counts = new.nested
    counts = ttl_inside(counts) or counts
    if row.serializer != ROW_DATA or {one.serializer for one in counts.nested or (counts,)} != {_INTEGERS}:
        return None

    def merge(one: bytes, two: bytes) -> bytes:
        at = len(one) - 4 * max(1, len(counts.nested))
        times = _INT.unpack_from(one, at)[0] + _INT.unpack_from(two, at)[0]
        return max(one[:at], two[:at]) + _INT.pack(times) + one[at + 4 :]

    return merge


def _rows_in(snapshot: SerializerSnapshot) -> SerializerSnapshot | None:
    """The rows of SQL that a state holds: of a map its values, or its keys where these are none."""
    if snapshot.serializer == ROW_DATA:
        return snapshot
    return next(filter(None, map(_rows_in, reversed(snapshot.nested))), None)


class Held(Struct, frozen=True):
    """How a keyed state holds its values: ``kind`` is Flink's, such as ``LIST``. ``timed`` values have the time of their last
    use before them; ``listed`` ones are lists that are single values."""

    kind: str
    timed: bool = False
    listed: bool = False


def held_in(kind: str, serializer: SerializerSnapshot) -> tuple[Held, SerializerSnapshot]:
    """The form in which a state holds its values, and the serializer of one. Raises Unconvertible for a kind without parts."""
    if kind in PARTS and not serializer.nested:
        raise Unconvertible(f"a {kind.lower()} of {serializer.serializer or serializer.class_name}")
    inner = serializer.nested[-1] if kind in PARTS else serializer
    lives = ttl_inside(inner)
    return Held(kind, lives is not None), lives or inner


def _held(kind: str, serializer: SerializerSnapshot) -> tuple[Held, Form]:
    """How a state holds its values, and the form of one. Raises Unconvertible."""
    held, inner = held_in(kind, serializer)
    return held, form_of(inner)


def held_forms(
    kind: str, old: SerializerSnapshot, kind_now: str, new: SerializerSnapshot
) -> tuple[Held, Form, Held, Form]:
    """How a state holds its values, and the form of one, before and after; of a list that is a single value its elements.

    Raises Unconvertible.
    """
    (before, form), (after, form_now) = _held(kind, old), _held(kind_now, new)
    if after.kind == "LIST" != before.kind and form.layout is Layout.LIST:
        before, form = replace(before, listed=True), form.parts[0]
    elif before.kind == "LIST" != after.kind and form_now.layout is Layout.LIST:
        after, form_now = replace(after, listed=True), form_now.parts[0]
    return before, form, after, form_now


def in_state(old: Held, new: Held, convert: Transcode, now: int = 0) -> Callable[[bytes], bytes]:
    """What writes the values of a keyed state anew, as they stand in a savepoint.

    Elements of lists have a comma between them, and values of maps a mark before them. With a time to live, all have the time
    of their last use: ``now`` if they had none.
    """
    first = _TIME.pack(now)

    def whole(data: bytes) -> bytes:
        reader = ByteReader(data, "a value")
        if old.kind == "MAP" and (mark := reader.raw(1, "a mark")) != b"\0":
            return mark
        found = list(_elements(reader, old, convert))
        if new.kind == "LIST" and not new.listed:
            return DELIMITER.join((time or first) + value if new.timed else value for time, value in found)
        if new.listed:
            time = max((time or first for time, _ in found), default=first)
            value = _COUNT.pack(len(found)) + b"".join(value for _, value in found)
        elif len(found) == 1:
            time, value = found[0][0] or first, found[0][1]
        else:
            raise Unconvertible(f"a list of {len(found)} elements is no single value")
        return (b"\0" if new.kind == "MAP" else b"") + (time if new.timed else b"") + value

    return whole


def _elements(reader: ByteReader, held: Held, convert: Transcode) -> Iterator[tuple[bytes | None, bytes]]:
    """The elements of a list, or the only value, each with the time of its last use."""
    if held.kind == "LIST":
        while reader.remaining:
            time = reader.raw(_TIME.size, "a time") if held.timed else None
            yield time, convert(reader)
            if reader.remaining and reader.raw(1, "a comma") != DELIMITER:
                _left_over(reader)
        return
    time = reader.raw(_TIME.size, "a time") if held.timed else None
    for _ in range(reader.count("elements", 1) if held.listed else 1):
        yield time, convert(reader)
    if reader.remaining:
        _left_over(reader)


def _left_over(reader: ByteReader) -> NoReturn:
    """Raise DamagedSavepoint for bytes that no value takes."""
    reader.damaged(f"{reader.remaining} bytes left over", "another serializer wrote this than the header says")


def exactly(convert: Transcode, what: str) -> Callable[[bytes], bytes]:
    """What writes one value anew that takes all of its bytes: ``what`` it is, for messages."""

    def whole(data: bytes) -> bytes:
        reader = ByteReader(data, what)
        written = convert(reader)
        return _left_over(reader) if reader.remaining else written

    return whole


def _broadcast(meta: StateMeta, convert: Transcode) -> Callable[[bytes], bytes]:
    """What writes the values of a broadcast state anew (`HeapBroadcastState`): a count, then keys and values."""
    keys = meta.serializer(KEYS)
    if keys is None:
        raise Unconvertible("a broadcast state without a serializer of keys")
    key = form_of(keys)

    def entries(reader: ByteReader) -> bytes:
        number = reader.count("entries", 1)
        return _COUNT.pack(number) + b"".join(bytes_of(key, reader) + convert(reader) for _ in range(number))

    return exactly(entries, "a broadcast state")


def transcoder(old: Form, new: Form, fields: Fields = Fields()) -> Transcode:  # noqa: B008 - frozen
    """A converter from one form to another. Raises Unconvertible for forms without a rule."""
    if old.same == new.same and fields == Fields():
        return lambda reader: bytes_of(old, reader)
    if fields.single is not None:
        if all(one.layout is not None and one.layout.is_record for one in (old, new)):
            if {old.layout, new.layout} != {Layout.TUPLE, Layout.ROW_DATA}:
                raise Unconvertible(f"{old.called} and {new.called} are both records: name fields, and no single one")
            if old.layout is Layout.TUPLE and fields.of_row != Fields():
                return _row_of(old, new, fields)
            # What Flink keeps with a row of SQL goes, or comes: the row is one field.
            old, new = (alone(one, fields.single) if one.layout is Layout.ROW_DATA else one for one in (old, new))
        old, new = (one if one.layout and one.layout.is_record else alone(one, fields.single) for one in (old, new))
    if old.layout is not None and new.layout is not None:
        if old.layout is new.layout is Layout.TUPLE and any(part.layout is Layout.ROW_DATA for part in old.parts):
            return _each(old, new, fields)
        if old.layout is new.layout is Layout.ROW_DATA:
            return _RowData(old, new, fields).transcode
        if old.layout.is_record and new.layout.is_record and Layout.ROW_DATA not in (old.layout, new.layout):
            return _Record(old, new, fields).transcode
        if old.layout is new.layout is Layout.MAP:
            return _map(transcoder(old.parts[0], new.parts[0]), transcoder(old.parts[1], new.parts[1], fields))
        if old.layout is new.layout:
            element = transcoder(old.parts[0], new.parts[0], fields)
            return _list(element, marked=old.layout is Layout.MARKED_LIST)
    read, write = old.read, new.write
    if old.write is None or write is None:
        raise Unconvertible(f"{old.called} does not become {new.called}")
    return lambda reader: write(read(reader))


def within(old: Form, new: Form, fields: Fields) -> Transcode:
    """What writes rows that have one field as such rows, where ``fields`` are those of that field."""
    inner = transcoder(old.parts[0], new.parts[0], fields)
    mask = write_mask([b""], kind=new.layout is Layout.ROW_OF_CHANGES)

    def convert(reader: ByteReader) -> bytes:
        change, (null,) = read_mask(reader, 1, kind=old.layout is Layout.ROW_OF_CHANGES)
        if change or null:
            raise Unconvertible("a key that is null, or a row that takes back another one")
        return mask + inner(reader)

    return convert


def _row_of(old: Form, new: Form, fields: Fields) -> Transcode:
    """A row of SQL of a tuple, and nothing else of it, as a row with other fields."""
    around = fields.around_row
    row = dict(zip(old.names, old.parts, strict=True)).get(around.single or "")
    if row is None or row.layout is not Layout.ROW_DATA:
        raise Unconvertible(f"{old.called} has no row {around.single}")
    alone_then = _Record(old, alone(row, around.single or ""), around).transcode
    convert = transcoder(row, new, fields.of_row)
    return lambda reader: convert(ByteReader(alone_then(reader), "a row"))


def _each(old: Form, new: Form, fields: Fields) -> Transcode:
    """A tuple in which Flink keeps a row of SQL with something of its own: the fields are those of the row."""
    if len(old.parts) != len(new.parts):
        raise Unconvertible(f"{old.called} does not become {new.called}")
    parts = [
        transcoder(before, after, fields if before.layout is Layout.ROW_DATA else Fields())
        for before, after in zip(old.parts, new.parts, strict=True)
    ]
    return lambda reader: b"".join(part(reader) for part in parts)


def _list(element: Transcode, *, marked: bool) -> Transcode:
    def convert(reader: ByteReader) -> bytes:
        number = reader.count("elements", 1)
        written = [_COUNT.pack(number)]
        for _ in range(number):
            mark = reader.raw(1, "a mark") if marked else b""
            written += [mark, b"" if mark == b"\0" else element(reader)]
        return b"".join(written)

    return convert


def _map(key: Transcode, value: Transcode) -> Transcode:
    def convert(reader: ByteReader) -> bytes:
        number = reader.count("entries", 1)
        written = [_COUNT.pack(number)]
        for _ in range(number):
            written.append(key(reader))
            mark = reader.raw(1, "a mark")
            written += [mark, value(reader) if mark == b"\0" else b""]
        return b"".join(written)

    return convert


Values = Mapping[str, bytes | None]
"""The fields of a record in their bytes, by name; None for a null."""


class _Record:
    """Records of OLD, read field by field, as records of NEW."""

    def __init__(self, old: Form, new: Form, fields: Fields) -> None:
        self._old, self._new = old, new
        if new.layout is not Layout.ROW_DATA:
            fields.require_unfilled()
        before, after = dict(zip(old.names, old.parts, strict=True)), dict(zip(new.names, new.parts, strict=True))
        _require_there(old, (*fields.sources.values(), *fields.dropped))
        _require_there(new, (*fields.sources, *fields.constants))
        self._made = [_maker(name, form, before, old, fields) for name, form in after.items()]
        used = {*fields.of(after).values()}
        left = [name for name in before if name not in used and name not in fields.dropped]
        if left:
            raise Unconvertible(f"{new.called} has no field for {', '.join(left)}: name it, or drop it")

    def transcode(self, reader: ByteReader) -> bytes:
        """One record."""
        values = self._read(reader)
        if values is None:
            return self._null()
        return self._written([make(values) for make in self._made])

    def _read(self, reader: ByteReader) -> Values | None:
        """The fields of a record of OLD; None for a record that is null itself."""
        fields = tuple(zip(self._old.names, self._old.parts, strict=True))
        if self._old.layout in (Layout.TUPLE, Layout.ALONE):
            return {name: bytes_of(form, reader) for name, form in fields}
        if self._old.layout is Layout.POJO:
            flags = reader.byte()
            if flags & 1:
                return None
            if flags != _NO_SUBCLASS:
                raise NeedsClass("an object of a subclass")
            return {name: None if reader.boolean() else bytes_of(form, reader) for name, form in fields}
        row_kind, nulls = read_mask(reader, len(fields), kind=self._old.layout is Layout.ROW_OF_CHANGES)
        if row_kind:
            raise Unconvertible("a row that takes back or updates another one")
        return {
            name: None if null else bytes_of(form, reader) for null, (name, form) in zip(nulls, fields, strict=True)
        }

    def _null(self) -> bytes:
        if self._new.layout is not Layout.POJO:
            raise Unconvertible(f"an object that is null does not become {self._new.called}")
        return b"\1"

    def _written(self, fields: list[bytes | None]) -> bytes:
        if self._new.layout is Layout.POJO:
            marked = (b"\1" if data is None else b"\0" + data for data in fields)
            return bytes([_NO_SUBCLASS]) + b"".join(marked)
        there = b"".join(data for data in fields if data is not None)
        if self._new.layout not in (Layout.TUPLE, Layout.ALONE):
            return write_mask(fields, kind=self._new.layout is Layout.ROW_OF_CHANGES) + there
        if None in fields:
            raise Unconvertible(f"a field that is null does not go into {self._new.called}")
        return there


class _RowData(_Record):
    """Rows of SQL, which keep their kind of change."""

    def __init__(self, old: Form, new: Form, fields: Fields) -> None:
        super().__init__(old, new, fields)
        self._slots, self._slots_now = ([slot_of(part.called) for part in form.parts] for form in (old, new))

    def transcode(self, reader: ByteReader) -> bytes:
        """One row."""
        kind, found = read_row(reader, self._slots)
        values = dict(zip(self._old.names, found, strict=True))
        return write_row(kind, [make(values) for make in self._made], self._slots_now)


def _require_there(form: Form, names: tuple[str, ...]) -> None:
    """Raise for a field that a record has not; a subclass of a POJO may have it, which only its class tells."""
    missing = NeedsClass if form.layout is Layout.POJO else Unconvertible
    for name in names:
        if name not in form.names:
            raise missing(f"{form.called} has no field {name}; it has {', '.join(form.names)}")


def _maker(
    name: str, form: Form, before: Mapping[str, Form], old: Form, fields: Fields
) -> Callable[[Values], bytes | None]:
    """What gives a field of NEW from those of OLD."""
    constant = _constant(fields.constants[name], form) if name in fields.constants else None
    if name in fields.constants and name not in fields.sources:
        return lambda values: constant
    source = fields.sources.get(name, name)
    if source not in before:
        raise Unconvertible(f"{old.called} has no field {name}: say which it was, or give a constant")
    convert = transcoder(before[source], form)

    def make(values: Values) -> bytes | None:
        value = values[source]
        try:
            return constant if value is None else convert(ByteReader(value, "a value"))
        except Unconvertible as error:
            raise Unconvertible(f"field {source}: {error}") from None

    return make


def _constant(value: Any, form: Form) -> bytes | None:
    if value is None and not form.takes_null:
        return None
    if form.write is None:
        raise Unconvertible(f"{form.called} has no constants")
    return form.write(value)
