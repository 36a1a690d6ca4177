"""Values of Flink's serializers through a function: each value once, in lists and maps one by one, with their times."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.function_conversion import FunctionConversion
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.python_functions import OfSerialized, Pickles, change_of
from compat.state.flink.python_states import Apply, Item
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import SerializerConversion
from compat.state.flink.value_writing import writer_of
from tests.state.flink import writer as w

LONG, TEXT = w.simple("Long"), w.simple("String")
NOTHING = Pickles(lambda data: data, lambda value: b"")


def listed(inner: bytes) -> bytes:
    return w.composite(w.BASE + "ListSerializerSnapshot", inner)


def mapped(key: bytes, value: bytes) -> bytes:
    return w.composite(w.BASE + "MapSerializerSnapshot", key, value)


def timed(inner: bytes) -> bytes:
    return w.composite("org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot", LONG, inner)


def through(tasks: list[OfSerialized], given: list[object]):
    """A function that doubles numbers, and keeps what it was given."""

    def doubled(value):
        given.append(value)
        return value * 2 if isinstance(value, int) else {str(one): one for one in value}

    def start(task: OfSerialized) -> Apply:
        tasks.append(task)
        change = change_of(task, doubled, NOTHING)

        def apply(items: Sequence[Item]) -> list[list[Item]]:
            return [change(item) for item in items]

        return apply

    return start


def meta_of(serializer: bytes, kind: str | None) -> StateMeta:
    options = () if kind is None else ((KIND, kind),)
    snapshot = read_versioned(ByteReader(serializer, "OLD"), 0)
    return StateMeta("s", "KEY_VALUE" if kind else "OPERATOR", options, ((VALUES, snapshot),))


def written(snapshot: bytes, value: object) -> bytes:
    return writer_of(form_of(read_versioned(ByteReader(snapshot, "a type"), 0)))(value)


def converted(old: bytes, new: bytes, kind: str | None, values: list[bytes], given: list[object]) -> list[bytes]:
    conversion = FunctionConversion(SerializerConversion(new), through([], given))
    return conversion.converter(meta_of(old, kind), b"\0\0\0\2" + old)(values)


@pytest.mark.parametrize("kind", ["VALUE", "REDUCING", "AGGREGATING", None])
def test_each_value_goes_through_once(kind: str | None) -> None:
    given: list[object] = []
    made = converted(LONG, LONG, kind, [written(LONG, one) for one in (1, 2, 1)], given)
    assert (made, given) == ([written(LONG, one) for one in (2, 4, 2)], [1, 2])


def test_elements_of_lists_and_values_of_maps_go_one_by_one() -> None:
    given: list[object] = []
    one, two, four = (written(LONG, number) for number in (1, 2, 4))
    assert converted(listed(LONG), listed(LONG), "LIST", [one + b"," + two], given) == [two + b"," + four]
    assert converted(mapped(TEXT, LONG), mapped(TEXT, LONG), "MAP", [b"\0" + one, b"\1"], given) == [b"\0" + two, b"\1"]
    assert given == [1, 2, 1]


def test_times_of_last_use_stay() -> None:
    time = (77).to_bytes(8, "big")
    assert converted(timed(LONG), timed(LONG), "VALUE", [time + written(LONG, 3)], []) == [time + written(LONG, 6)]


def test_a_list_becomes_a_map() -> None:
    new = mapped(TEXT, LONG)
    assert converted(listed(LONG), new, "VALUE", [written(listed(LONG), [5, 6])], []) == [
        written(new, {"5": 5, "6": 6})
    ]


def test_what_a_function_gives_has_to_be_of_news_type() -> None:
    with pytest.raises(Unconvertible, match="is not"):
        converted(LONG, w.simple("Boolean"), "VALUE", [written(LONG, 1)], [])
