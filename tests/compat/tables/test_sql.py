from __future__ import annotations

from collections.abc import Callable

import pytest

from compat.state.types import Types
from compat.tables import query
from compat.tables.snapshots import TableState
from compat.tables.sql import QueryError, table_names


def test_each_state_is_a_table(savepoint: Callable[..., str]) -> None:
    path = savepoint()
    found = query(path, 'select key, value from "keeps"."sum" order by value desc limit 2')
    assert found.to_pylist() == [{"key": "k2", "value": 7}, {"key": "k1", "value": 5}]
    joined = query(
        path,
        "select s.key, s.value, unnest(p.value.seen) as seen from keeps.sum s join keeps.person p using (key) "
        "where key = 'k1' order by seen",
    )
    assert joined.to_pylist() == [{"key": "k1", "value": 5, "seen": 1}, {"key": "k1", "value": 5, "seen": 4}]


def test_all_states_are_entries(savepoint: Callable[..., str]) -> None:
    found = query(
        savepoint(), "select state, count(*) as n from entries where uid = 'keeps' group by state order by state"
    )
    assert {row["state"]: row["n"] for row in found.to_pylist()} == {
        "_timers": 6,
        "items": 3,
        "loose": 3,
        "parity": 6,
        "person": 3,
        "sum": 3,
    }


def test_a_wrong_query_is_told_the_tables(savepoint: Callable[..., str]) -> None:
    with pytest.raises(QueryError, match=r'(?s)nothing.*The tables are:\n.*"keeps"."sum"\n.*"entries"'):
        query(savepoint(), "select * from keeps.nothing")


def state(operator: str, id: str, name: str = "n", kind: str = "value", uid: str | None = None) -> TableState:
    return TableState(operator=operator, uid=uid, operator_id=id, name=name, kind=kind, value_type=Types.LONG())


def test_names_are_told_apart() -> None:
    states = [
        state("Map", "a"),
        state("Map", "b"),
        state("Sum", "c", uid="total"),
        state("Timed", "d", "t", "event-timer"),
        state("Timed", "d", "t", "processing-timer"),
    ]
    assert list(table_names(states)) == [
        ("a", "n"),
        ("b", "n"),
        ("total", "n"),
        ("Timed", "t (event-timer)"),
        ("Timed", "t (processing-timer)"),
    ]


def test_quotes_in_names_are_doubled(savepoint: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    from compat.tables import sql

    path = savepoint()
    original = sql.table_names
    monkeypatch.setattr(
        sql, "table_names", lambda states: {('a "b"', name): each for (_, name), each in original(states).items()}
    )
    assert query(path, 'select sum(value) as n from "a ""b""".sum').to_pylist() == [{"n": 15}]
