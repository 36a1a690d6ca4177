"""Values and keys as bytes, for every type."""

import itertools
import pickle
from typing import Any

import pytest
from hypothesis import given

from compat.state.key_groups import key_bytes
from compat.state.serializers import codec_of, key_codec_of
from compat.state.serializers.codecs import join
from compat.state.time import Instant
from compat.state.types import ExternalTypeInfo, OpaqueTypeInfo, TypeInformation, Types
from tests.state.strategies import typed_values, types


@given(typed_values())
def test_what_is_written_is_read(pair: tuple[TypeInformation, Any]) -> None:
    type_info, value = pair
    codec = codec_of(type_info)
    assert codec.decode(codec.encode(value)) == value


@given(typed_values())
def test_keys_are_read_as_written_and_equal_keys_have_one_identity(pair: tuple[TypeInformation, Any]) -> None:
    type_info, key = pair
    codec = key_codec_of(type_info)
    try:
        data = codec.encode(key)
    except TypeError:  # a map among the parts of a key
        return
    assert codec.decode(data) == key
    assert codec.identity(codec.encode(codec.decode(data))) == codec.identity(data)


@pytest.mark.parametrize("key", [True, 1.0, ("a", 2.5), [1, 2], frozenset([2.0])])
def test_a_key_that_was_pickled_when_equal_ones_were_one_is_the_same_key(key: Any) -> None:
    codec, equal = key_codec_of(None), key_bytes(key)
    data = b"\1" + len(equal).to_bytes(4, "big") + equal + codec_of(None).encode(key)
    assert codec.decode(data) == key
    assert codec.identity(data) == codec.identity(codec.encode(key)) != equal


def test_a_key_with_a_pickled_part_is_read_as_its_type_writes_it() -> None:
    codec = key_codec_of(Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.DOUBLE()]))
    for key in (({"a"}, 2.5), (1, 0.5)):
        assert codec.decode(codec.encode(key)) == key


def test_a_key_that_cannot_be_unpickled_any_more_keeps_its_identity() -> None:
    assert key_codec_of(None).identity(b"\1\0\0\0\1kno pickle") == b"k"


@given(types())
def test_no_declared_type_is_pickled(type_info: TypeInformation) -> None:
    assert not codec_of(type_info).pickled


@given(typed_values())
def test_typed_bytes_are_read_without_pickle(pair: tuple[TypeInformation, Any]) -> None:
    type_info, value = pair
    key = key_codec_of(type_info)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pickle, "loads", _refuse)
        codec = codec_of(type_info)
        codec.decode(codec.encode(value))
        try:
            key.decode(key.encode(value))
        except TypeError:
            return


def _refuse(*_: Any) -> None:
    raise AssertionError("a typed value was unpickled")


@pytest.mark.parametrize(
    "type_info",
    [
        Types.PICKLED_BYTE_ARRAY(),
        OpaqueTypeInfo("com.example.Pojo"),
        Types.LIST(Types.PICKLED_BYTE_ARRAY()),
        Types.ROW([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]),
        Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_pickled_types_say_so(type_info: TypeInformation) -> None:
    assert codec_of(type_info).pickled


def test_an_external_type_is_the_type_within() -> None:
    assert codec_of(ExternalTypeInfo(Types.LONG())).encode(1) == codec_of(Types.LONG()).encode(1)


def test_an_instant_keeps_its_nanoseconds() -> None:
    codec = codec_of(Types.INSTANT())
    assert codec.decode(codec.encode(Instant(-1, 999_999_999))) == Instant(-1, 999_999_999)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), "a"),
        (Types.INT(), 2**31),
        (Types.STRING(), 1),
        (Types.FLOAT(), 1e300),
        (Types.TUPLE([Types.FLOAT()]), (1e300,)),
    ],
)
def test_a_value_of_another_type_is_refused(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(TypeError, match="is no value of the declared type"):
        codec_of(type_info).encode(value)


def test_a_field_of_a_tuple_is_written_as_by_itself() -> None:
    fields = [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.PICKLED_BYTE_ARRAY(), Types.INT(), Types.BOOLEAN()]
    values: list[list[Any]] = [[7, 7.0, True, None], ["a", None], [1.5, 2, None], [{1}, None], [3, None], [False, None]]
    codec = codec_of(Types.TUPLE(fields))
    for row in itertools.product(*values):
        alone = [
            None if value is None else codec_of(field).encode(value) for field, value in zip(fields, row, strict=True)
        ]
        assert codec.encode(row) == join(alone)
        assert codec.decode(codec.encode(row)) == row


@pytest.mark.parametrize("row", [("a", 1.5), ("a", 1 << 70), (1, 1), ("a", "b")])
def test_a_field_of_another_type_is_refused(row: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="is no value of the declared type"):
        codec_of(Types.TUPLE([Types.STRING(), Types.LONG()])).encode(row)


@pytest.mark.parametrize("row", [("a",), ("a", 1, 2)])
def test_a_tuple_of_another_length_is_refused(row: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="zip"):
        codec_of(Types.TUPLE([Types.STRING(), Types.LONG()])).encode(row)
