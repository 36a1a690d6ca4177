"""Rows of a state as items, and back; and what PyFlink's coders make of these: all of it, or nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from compat.state.delta.items import Coders, Stored, of_coders
from compat.state.delta.rows import Kind, Row
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_rules import Declared
from compat.state.flink.python_states import Array, Item
from compat.state.model.states import StateKind
from compat.state.serializers import codec_of, key_codec_of
from compat.state.serializers.codecs import join, split
from compat.state.types import TypeInformation, Types

L, S, P = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
VALUE = Declared(StateKind.VALUE, str(L))
OF = Row("op", Kind.VALUE, 3, "s", b"key", b"window", b"", b"")
TIME = bytes(8)


def item(type: TypeInformation, *values: Any, key: bytes | None = None) -> Item:
    encode = codec_of(type).encode
    return Item(key, (Array(join([None if one is None else encode(one) for one in values]), TIME),))


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("stored", "rows"),
    [
        (Stored(VALUE), [OF._replace(value=codec_of(L).encode(3))]),
        (Stored(Declared(StateKind.REDUCING, str(L))), [OF._replace(value=codec_of(L).encode(3))]),
        (
            Stored(Declared(StateKind.LIST, str(L))),
            [OF._replace(kind=Kind.LIST, map_key=bytes(8), value=codec_of(Types.LIST(L)).encode([1, None]))],
        ),
        (
            Stored(Declared(StateKind.MAP, str(Types.MAP(S, L)))),
            [
                OF._replace(kind=Kind.MAP, map_key=key_codec_of(S).encode("a"), value=b"\0"),
                OF._replace(kind=Kind.MAP, map_key=key_codec_of(S).encode("b"), value=b"\1" + codec_of(L).encode(2)),
            ],
        ),
        (
            Stored(Declared(StateKind.MAP, str(Types.MAP(S, L))), broadcast=True),
            [OF._replace(kind=Kind.BROADCAST, map_key=key_codec_of(S).encode("b"), value=codec_of(L).encode(2))],
        ),
    ],
)
def test_rows_are_the_same_after_they_were_items(stored: Stored, rows: list[Row], timed: bool) -> None:
    stored = Stored(stored.declared, stored.broadcast, timed)
    rows = [row._replace(timestamp=7 if timed else None) for row in rows]
    assert stored.rows(rows[0], stored.items(rows, 5)) == rows


def test_what_had_no_time_gets_one() -> None:
    row = OF._replace(value=codec_of(L).encode(3))
    timed = Stored(VALUE, timed=True)
    assert timed.rows(row, Stored(VALUE).items([row], 5)) == [row._replace(timestamp=5)]


def test_chunks_of_a_list_are_of_one_time() -> None:
    stored = Stored(Declared(StateKind.LIST, str(L)), timed=True)
    of = OF._replace(kind=Kind.LIST)
    rows = [
        of._replace(map_key=number.to_bytes(8, "big"), value=join([codec_of(L).encode(number)]), timestamp=time)
        for number, time in enumerate((1, 1, 2))
    ]
    made = stored.rows(of, stored.items(rows, 0))
    assert [(len(split(row.value or b"")), row.timestamp) for row in made] == [(2, 1), (1, 2)]


def test_two_entries_are_not_made_one() -> None:
    stored = Stored(Declared(StateKind.MAP, str(Types.MAP(L, L))))
    key = join([codec_of(L).encode(1)])
    with pytest.raises(Unconvertible, match="two keys in the map become one"):
        stored.rows(OF, [item(L, 1, key=key), item(L, 2, key=key)])
    with pytest.raises(Unconvertible, match="several values"):
        Stored(VALUE).rows(OF, [item(L, 1, 2)])


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (L, -3),
        (S, "täxt"),
        (P, {"n": [1]}),
        (Types.TUPLE([P, L]), ({"a"}, 1)),
        (Types.MAP(S, Types.LIST(P)), {"a": [1, None]}),
        (Types.SQL_TIMESTAMP(), datetime(2026, 1, 2, 3, 4, 5, 678_000)),
    ],
)
def test_what_coders_write_is_read_back(type: TypeInformation, value: Any) -> None:
    coders, given = Coders(Declared(StateKind.VALUE, str(type))), item(type, value)
    assert coders.read(coders.written(given)) == given


@pytest.mark.parametrize(
    ("type", "value"),
    [(Types.SQL_TIMESTAMP(), datetime(2026, 1, 1, 0, 0, 0, 1)), (Types.BIG_INT(), 2**70), (L, None)],
)
def test_what_coders_would_not_keep_is_refused(type: TypeInformation, value: Any) -> None:
    with pytest.raises(Unconvertible):
        Coders(Declared(StateKind.VALUE, str(type))).written(item(type, value))


def test_a_pickle_is_not_opened() -> None:
    broken = Item(None, (Array(join([b"no pickle"]), TIME),))
    coders = Coders(Declared(StateKind.VALUE, str(P)))
    assert coders.read(coders.written(broken)) == broken


def test_a_function_is_given_what_coders_write() -> None:
    met: list[Item] = []

    def apply(items: Any) -> list[list[Item]]:
        met.extend(items)
        return [[one] for one in items]

    key = join([codec_of(S).encode("a")])
    declared = Declared(StateKind.MAP, str(Types.MAP(S, L)))
    given = item(L, 5, key=key)
    assert of_coders(apply, declared, declared)([given]) == [[given]]
    assert met == [Item(b"\0\0\0\1a", (Array((5).to_bytes(8, "big"), TIME),))]
