"""The ways in which state is kept, and which changes of a type each of them can read.

The answers of Flink's serializers come from Flink 2.3 itself, and the results of PyFlink's coders for each other's bytes from
restores; ``tests/state/compatibility`` and ``tests/compat/pairs`` have both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from compat.state.compatibility import avro
from compat.state.compatibility.answers import SAME, Answer, Compatibility, incompatible, worst
from compat.state.types import (
    PICKLED,
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from compat.state.types.basic import BASIC_TYPES

Rows = Callable[["Dialect", RowTypeInfo, RowTypeInfo, bool], Compatibility]


class Dialect(Struct, frozen=True, kw_only=True):
    """A way to keep state.

    ``forms`` gives one name to kinds of types with the same bytes, ``rows`` compares rows. ``widened`` are pairs of such names,
    of which the first is converted to the second. ``cuts`` is true if the bytes after the last needed field are read as further
    values, and then dropped: any bytes are numbers, but as the length of a text they may exceed the memory. ``pickles`` are
    kinds whose values are always pickled, whatever their declaration. ``announced`` are kinds that are declared to Java as
    pickles, too, and whose values are not: Java cannot write them, and what is read is bytes.
    """

    name: str
    rows: Rows
    forms: Mapping[str, str] = field(default_factory=dict)
    widened: frozenset[tuple[str, str]] = frozenset()
    cuts: bool = False
    pickles: frozenset[str] = frozenset()
    announced: frozenset[str] = frozenset()
    resolves_avro: bool = True

    def resolve(self, old: TypeInformation, new: TypeInformation, *, alone: bool = True) -> Compatibility:
        """The compatibility of ``new`` with bytes of ``old``. ``alone``: the value is the last thing in its bytes."""
        old, new = _unwrapped(old), _unwrapped(new)
        if old == new:
            return SAME
        before, after = self.form(old), self.form(new)
        if before != after:
            if (before, after) in self.widened:
                return Compatibility(Answer.AFTER_MIGRATION, (f"{old} is converted to {new}",))
            return incompatible(f"{old} became {new}")
        if before == _PICKLED:
            return _pickled(old, new)
        if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo):
            return self.rows(self, old, new, alone)
        if isinstance(old, TupleTypeInfo) and isinstance(new, TupleTypeInfo):
            return self._fields(old.field_types, new.field_types, alone)
        if isinstance(old, GenericRecordAvroTypeInfo) and isinstance(new, GenericRecordAvroTypeInfo):
            return self._avro(old, new)
        return self._elements(old, new)

    def form(self, type_info: TypeInformation) -> str:
        """The form in which a type's values are written, apart from their parts."""
        kind = type_info.kind
        if kind in self.pickles:
            return _PICKLED
        if isinstance(type_info, PrimitiveArrayTypeInfo):
            kind = f"{kind} of {type_info.element_type.kind}"
        elif not type_info.children() and kind == "OPAQUE":
            kind = str(type_info)
        return self.forms.get(kind, kind)

    def kept(self, type_info: TypeInformation) -> TypeInformation:
        """The type of the stored values: the one that Flink's serializer in the savepoint is made for."""
        if type_info.kind in self.pickles | self.announced:
            return PICKLED
        if isinstance(type_info, MapTypeInfo):
            return MapTypeInfo(self.kept(type_info.key_type), self.kept(type_info.value_type))
        return BASIC_TYPES.get(self.form(type_info), type_info)

    def _fields(self, old: tuple[TypeInformation, ...], new: tuple[TypeInformation, ...], alone: bool) -> Compatibility:
        """Fields by their places."""
        last = len(new) - 1
        open_ended = next((each for each in new if not self._of_one_length(each)), None)
        shared = [
            self.resolve(before, after, alone=alone and place == last and open_ended is None).within(f"field {place}")
            for place, (before, after) in enumerate(zip(old, new, strict=False))
        ]
        if len(old) == len(new):
            return worst(shared)
        if self.cuts and alone and len(new) < len(old):
            if open_ended is not None:
                left = (
                    f"what is left of {len(old)} fields behind {len(new)} is read as another value, with {open_ended}"
                )
                return worst([*shared, incompatible(left)])
            gone = f"the last {len(old) - len(new)} of {len(old)} fields are not read any more"
            return worst([*shared, Compatibility(Answer.AFTER_MIGRATION, (gone,))])
        return worst([*shared, incompatible(f"{len(old)} fields became {len(new)}")])

    def _of_one_length(self, type_info: TypeInformation) -> bool:
        """Whether any bytes can be read as a value of the type."""
        if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
            return all(map(self._of_one_length, type_info.field_types))
        return self.form(type_info) in _NUMBERS

    def _elements(self, old: TypeInformation, new: TypeInformation) -> Compatibility:
        """Maps, lists and arrays, part by part."""
        pairs = list(zip(old.children(), new.children(), strict=True))
        if isinstance(old, MapTypeInfo):
            key = self.resolve(*pairs[0], alone=False)
            if key.answer is Answer.AFTER_MIGRATION and self.form(old.key_type) == self.form(pairs[0][1]):
                key = incompatible(*key.changes, "keys that differ in what goes would become one")
            return worst([key.within("the keys"), self.resolve(*pairs[1], alone=False).within("the values")])
        return worst(self.resolve(*pair, alone=False).within("the elements") for pair in pairs)

    def _avro(self, old: GenericRecordAvroTypeInfo, new: GenericRecordAvroTypeInfo) -> Compatibility:
        try:
            if self.resolves_avro:
                return avro.resolve(old.schema, new.schema)
            return SAME if avro.same_form(old.schema, new.schema) else incompatible("the Avro schema changed")
        except ValueError as error:
            return incompatible(str(error))


_PICKLED = PICKLED.kind
_NUMBERS = frozenset({"BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE"})


def _unwrapped(type_info: TypeInformation) -> TypeInformation:
    return type_info.type_info if isinstance(type_info, ExternalTypeInfo) else type_info


def _pickled(old: TypeInformation, new: TypeInformation) -> Compatibility:
    """Two types that are both kept pickled: nothing is compared, and values come back as they were, whatever is declared."""
    if old.kind == new.kind == _PICKLED:
        return SAME
    return Compatibility(Answer.AS_IS, (f"values of {old} are kept pickled and come back in their old form",))


def _rows_by_place(dialect: Dialect, old: RowTypeInfo, new: RowTypeInfo, alone: bool) -> Compatibility:
    """Fields by their places; names are not written. Flink: ``RowSerializer``, which knows no names either."""
    found = dialect._fields(old.field_types, new.field_types, alone)
    moved = [
        name
        for name in new.field_names
        if name in old.field_names and old.get_field_index(name) != new.get_field_index(name)
    ]
    if moved and found.readable:
        places = " and ".join(repr(name) for name in moved)
        return incompatible(*found.changes, f"the fields {places} stand elsewhere, and values are handed on by place")
    if is_named(old) and is_named(new):
        renamed = [
            f"field {before!r} is called {after!r}"
            for before, after in zip(old.field_names, new.field_names, strict=False)
            if before != after
        ]
        return Compatibility(found.answer, (*found.changes, *renamed))
    return found


def _rows_by_name(dialect: Dialect, old: RowTypeInfo, new: RowTypeInfo, alone: bool) -> Compatibility:
    """Named fields may come, go and move; unnamed ones are compared by place."""
    if not (is_named(old) and is_named(new)):
        found = dialect._fields(old.field_types, new.field_types, alone)
        if found.answer is Answer.AS_IS and old.field_names != new.field_names:
            return Compatibility(Answer.RECONFIGURED, (*found.changes, "the fields have got names"))
        return found
    before = dict(zip(old.field_names, old.field_types, strict=True))
    after = dict(zip(new.field_names, new.field_types, strict=True))
    parts = [
        dialect.resolve(before[name], after[name], alone=False).within(f"field {name!r}")
        for name in after
        if name in before
    ]
    changes = [f"field {name!r} is new" for name in after if name not in before]
    changes += [f"field {name!r} is gone" for name in before if name not in after]
    if not changes and old.field_names != new.field_names:
        changes = ["the fields are in another order"]
    if changes:
        parts.append(Compatibility(Answer.AFTER_MIGRATION, tuple(changes)))
    return worst(parts)


def is_named(row: RowTypeInfo) -> bool:
    """True unless the fields are called f0, f1, …, like unnamed fields."""
    return row.field_names != tuple(f"f{place}" for place in range(len(row.field_names)))


def _rows_pickled(_dialect: Dialect, _old: RowTypeInfo, _new: RowTypeInfo, _alone: bool) -> Compatibility:
    raise AssertionError("Rows are pickled here; nothing asks for their fields.")


_ARRAYS = {BasicArrayTypeInfo.kind: ObjectArrayTypeInfo.kind}

JAVA = Dialect(
    name="Java",
    rows=_rows_by_place,
    forms=_ARRAYS,
)
"""Flink's own serializers, which also write the keys of all programs."""

PROCESS = Dialect(
    name="process",
    rows=_rows_by_place,
    forms={**_ARRAYS, "LIST": ObjectArrayTypeInfo.kind, "BIG_INT": "LONG", "CHAR": "STRING"},
    cuts=True,
    resolves_avro=False,
)
"""The coders of PyFlink's process mode. Flink sees only bytes; only the program knows their types."""

THREAD = Dialect(
    name="thread",
    rows=_rows_pickled,
    forms={
        **_ARRAYS,
        **dict.fromkeys(("BYTE", "SHORT", "INT"), "LONG"),
        "FLOAT": "DOUBLE",
        "CHAR": "STRING",
    },
    pickles=frozenset({"ROW", "TUPLE", _PICKLED}),
    announced=frozenset({"LIST", "AVRO", "SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP"}),
)
"""PyFlink's thread mode: Java's serializers for numbers, text, arrays and maps, pickles for rows, tuples and what has no type
(PyFlink: ``to_java_typeinfo``, ``from_type_info``)."""

STORE = Dialect(
    name="store",
    rows=_rows_by_name,
    forms={**_ARRAYS, "LIST": ObjectArrayTypeInfo.kind, "CHAR": "STRING"},
    widened=frozenset({("LONG", "BIG_INT")}),
)
"""The snapshot log of this project, whose rows know their fields' names: the one dialect that migrates."""
