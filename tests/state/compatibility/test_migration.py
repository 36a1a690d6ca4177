"""Migrated bytes hold the old value, as the new type has it."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.compatibility import STORE, Answer
from compat.state.compatibility.migration import migration_of
from compat.state.rows import make_row
from compat.state.serializers import codec_of
from compat.state.types import (
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from tests.state.strategies import LEAF_TYPES, types, values

L, S = Types.LONG(), Types.STRING()


def evolved(old: TypeInformation) -> st.SearchStrategy[TypeInformation]:
    """Types that must be able to read ``old``: fields gone, new, in another order; numbers made wider; all that within."""
    if old.kind == "LONG":
        return st.sampled_from([L, Types.BIG_INT()])
    if isinstance(old, RowTypeInfo) and old.get_field_names()[:1] not in ([], ["f0"]):
        kept = st.lists(st.sampled_from(old.field_names), unique=True, min_size=1)
        fresh = st.lists(st.sampled_from(["v", "w"]), unique=True, max_size=2)
        return st.tuples(kept, fresh).flatmap(lambda names: _evolved_row(old, *names))
    if isinstance(old, RowTypeInfo):
        return st.tuples(*map(evolved, old.field_types)).map(lambda fields: RowTypeInfo(fields, old.field_names))
    if isinstance(old, TupleTypeInfo):
        return st.tuples(*map(evolved, old.field_types)).map(TupleTypeInfo)
    if isinstance(old, ListTypeInfo | ObjectArrayTypeInfo):
        return evolved(old.element_type).map(type(old))
    if isinstance(old, MapTypeInfo):
        return st.builds(MapTypeInfo, evolved(old.key_type), evolved(old.value_type))
    return st.just(old)


def _evolved_row(old: RowTypeInfo, kept: list[str], fresh: list[str]) -> st.SearchStrategy[TypeInformation]:
    types = dict(zip(old.field_names, old.field_types, strict=True))
    fields = [evolved(types[name]) for name in kept] + [st.sampled_from(LEAF_TYPES) for _ in fresh]
    return st.tuples(*fields).map(lambda made: RowTypeInfo(made, kept + fresh))


def expected(old: TypeInformation, new: TypeInformation, value: Any) -> Any:
    """The value as the new type has it: the specification, on values rather than on bytes."""
    if value is None:
        return None
    if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo) and old.field_names != new.field_names:
        held = dict(zip(old.field_names, zip(old.field_types, value, strict=True), strict=True))
        fields = [
            expected(held[name][0], field, held[name][1]) if name in held else None
            for name, field in zip(new.field_names, new.field_types, strict=True)
        ]
        return make_row(new.field_names, value.get_row_kind().value, fields)
    if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo):
        fields = list(map(expected, old.field_types, new.field_types, value))
        return make_row(new.field_names, value.get_row_kind().value, fields)
    if isinstance(old, TupleTypeInfo):
        return tuple(map(expected, old.field_types, new.field_types, value))  # type: ignore[attr-defined]
    if isinstance(old, ListTypeInfo | ObjectArrayTypeInfo):
        return [expected(old.element_type, new.element_type, each) for each in value]  # type: ignore[attr-defined]
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        return {key: expected(old.value_type, new.value_type, each) for key, each in value.items()}
    return value


CASES = types().flatmap(lambda old: st.tuples(st.just(old), evolved(old), values(old)))


@given(CASES)
def test_a_migrated_value_is_the_old_one_as_the_new_type_has_it(
    case: tuple[TypeInformation, TypeInformation, Any],
) -> None:
    old, new, value = case
    migrate = migration_of(old, new)
    data = codec_of(old).encode(value)
    assert codec_of(new).decode(data if migrate is None else migrate(data)) == expected(old, new, value)


@given(types(), types(), st.data())
def test_two_types_are_read_migrated_or_refused(
    old: TypeInformation, new: TypeInformation, data: st.DataObject
) -> None:
    """Whatever the answer, it is kept: refused types give an error, all others bytes that the new type reads."""
    answer = STORE.resolve(old, new).answer
    if answer is Answer.INCOMPATIBLE:
        with pytest.raises(ValueError, match="cannot read"):
            migration_of(old, new)
        return
    migrate = migration_of(old, new)
    assert (migrate is not None) == (answer is Answer.AFTER_MIGRATION)
    written = codec_of(old).encode(data.draw(values(old)))
    codec_of(new).decode(written if migrate is None else migrate(written))


def test_pickled_fields_are_carried_along_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = Types.PICKLED_BYTE_ARRAY()
    old = Types.ROW_NAMED(["a", "p"], [L, pickled])
    new = Types.ROW_NAMED(["p", "n", "a"], [pickled, S, Types.BIG_INT()])
    data = codec_of(old).encode((1, {"any": object}))
    migrate = migration_of(old, new)
    assert migrate is not None
    with monkeypatch.context() as patch:
        patch.setattr(pickle, "loads", None)
        migrated = migrate(data)
    assert codec_of(new).decode(migrated) == make_row(("p", "n", "a"), 0, [{"any": object}, None, 1])


def test_avro_fills_in_defaults() -> None:
    schema = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}%s]}'
    old = GenericRecordAvroTypeInfo(schema % "")
    new = GenericRecordAvroTypeInfo(schema % ', {"name": "b", "type": "string", "default": "new"}')
    migrate = migration_of(old, new)
    assert migrate is not None
    assert codec_of(new).decode(migrate(codec_of(old).encode({"a": 7}))) == {"a": 7, "b": "new"}
