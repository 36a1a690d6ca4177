"""What speaks for two operators being the same one, weighed, and who does the work of one that is gone."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check.similarity import (
    Index,
    find_successors,
    kept_names,
    only_of_one_sort,
    own_code,
    own_function,
    own_name,
    recorded,
    same_values,
    similarity,
    state_names,
    values_of,
)
from compat.state.model.code import Captured, UserCode
from compat.state.model.operators import Operator
from tests.compat.builders import operator, program, value_state

N, WINDOW = value_state("n"), value_state("window-contents", built_in=True)


def code(name: str = "m.Count", digest: str = "1", **more: Any) -> UserCode:
    return UserCode(name=name, digest=digest, **more)


def made_with(**values: str) -> dict[str, Any]:
    """A function of Python with these values."""
    return {"detail": {"function": "m.Count", "made_with": values}}


def op(name: str = "Map", **more: Any) -> Operator:
    return operator(name, **{"states": (), **more})


@pytest.mark.parametrize(
    ("one", "name"),
    [
        (op("Map"), None),
        (op("Count"), "Count"),
        (op("Count, _stream_key_by_map_operator"), "Count"),
        (op("Count, Map, Filter"), "Count"),
        (op("_stream_key_by_map_operator"), None),
        (op("TumblingWindow", detail={"window_class": "TumblingWindow"}), None),
        (op("Mine", detail={"window_class": "TumblingWindow"}), "Mine"),
        (op("Mine", detail={"unnamed": True}), None),
    ],
)
def test_a_name_is_its_own_where_flink_did_not_give_it(one: Operator, name: str | None) -> None:
    assert own_name(one) == name


@pytest.mark.parametrize(
    ("facts", "function"),
    [
        ({}, None),
        ({"detail": {"function": "m.Count"}}, "m.Count"),
        ({"detail": {"function": "m.<lambda>"}}, None),
        ({"detail": {"function": "m.jobs.<lambda>"}}, None),
        ({"detail": {"function": "pyflink.same"}}, None),
        ({"function": code()}, "m.Count"),
        ({"function": code(), "detail": {"function": "m.Other"}}, "m.Count"),
        ({"function": code("m.Job", method="lambda$main$0")}, "m.Job 1"),
        ({"function": code("m.Job$1")}, "m.Job 1"),
        ({"function": code("m.Job$Inner")}, "m.Job$Inner"),
        ({"function": code("m.Job2")}, "m.Job2"),
        ({"function": code("org.apache.flink.api.Sum")}, None),
        ({"function": code("org.apache.flink.table.Over")}, "org.apache.flink.table.Over"),
    ],
)
def test_a_function_is_its_own_where_it_tells(facts: dict[str, Any], function: str | None) -> None:
    assert own_function(op(**facts)) == function


def test_of_a_window_it_is_what_folds() -> None:
    fold, window = code("m.Fold"), code("m.Window")
    folding = value_state("window-contents", built_in=True, function=fold)
    own = value_state("n", function=code("m.Other"))
    assert own_code(op(function=window, states=(own, WINDOW, folding))) == fold
    assert own_code(op(function=window, states=(own, WINDOW))) == window
    assert own_code(op(states=None)) is None


def test_only_the_states_of_the_program_are_named() -> None:
    assert [name for name, _ in state_names(op(states=(N, WINDOW)))] == ["n"]
    assert state_names(op(states=None)) == frozenset()


KIND, NAME, FUNCTION, STATES, VALUES, PLACE = 8, 32, 24, 16, 4, 1
PLAIN: dict[str, Any] = {"states": (N,)}


@pytest.mark.parametrize(
    ("old", "new", "weight"),
    [
        ({"kind": "map"}, {"kind": "window"}, 0),
        ({"kind": "keyed_map"}, {"kind": "keyed_process"}, KIND + STATES),
        (PLAIN, {"states": ()}, KIND),
        (PLAIN, PLAIN, KIND + STATES),
        (PLAIN, {"states": (N, value_state("m"))}, KIND),
        ({"states": (N, value_state("m")), "detail": {"recorded": True}}, PLAIN, KIND + STATES),
        ({"states": (N,), "detail": {"recorded": True}}, {"states": (value_state("m"),)}, KIND),
        ({"name": "Count"}, {"name": "Count"}, KIND + STATES + NAME),
        ({"name": "Count"}, {"name": "Other"}, KIND + STATES),
        ({"function": code()}, {"function": code()}, KIND + STATES + FUNCTION + VALUES),
        ({"function": code()}, {"function": code("m.Other")}, KIND + STATES),
        (made_with(a="1"), made_with(a="1"), KIND + STATES + FUNCTION + VALUES),
        (made_with(a="1"), made_with(a="2"), KIND + STATES + FUNCTION),
        ({"key_selectors": (code(),)}, {"key_selectors": (code(),)}, KIND + STATES + PLACE),
        ({"key_selectors": (code(),)}, {"key_selectors": (code(digest="2"),)}, KIND + STATES),
        ({"key_selectors": (None,)}, {"key_selectors": (None,)}, KIND + STATES),
        ({"detail": {"origins": ["s"]}}, {"detail": {"origins": ["s"]}}, KIND + STATES + PLACE),
        ({"detail": {"origins": ["s"]}}, {"detail": {"origins": ["t"]}}, KIND + STATES),
        ({"detail": {"origins": ["s"]}}, {}, KIND + STATES),
        ({"detail": {"fed": "1"}}, {"detail": {"fed": "1"}}, KIND + STATES + PLACE),
        ({"detail": {"fed": "1"}}, {"detail": {"fed": "2"}}, KIND + STATES),
        (
            {"detail": {"origins": ["s"], "fed": "1"}},
            {"detail": {"origins": ["s"], "fed": "1"}},
            KIND + STATES + 2 * PLACE,
        ),
    ],
)
def test_what_speaks_for_one_operator_is_weighed(old: dict[str, Any], new: dict[str, Any], weight: int) -> None:
    assert similarity(op(**old), op(**new)) == weight


def test_a_sort_alone_says_little() -> None:
    assert [score for score in (0, KIND, KIND + 7, KIND + STATES - 1, KIND + STATES) if only_of_one_sort(score)] == [
        KIND,
        KIND + 7,
        KIND + STATES - 1,
    ]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (made_with(a="1", b="2"), made_with(b="2", a="1"), True),
        (made_with(a="1"), made_with(a="2"), False),
        (made_with(a="1"), {"detail": {"function": "m.Count"}}, None),
        ({"detail": {"function": "m.Count"}}, made_with(a="1"), None),
        (made_with(a="1"), {"detail": {"function": "m.Other", "made_with": {"a": "1"}}}, None),
        ({"detail": {"made_with": {"a": "1"}}}, {"detail": {"made_with": {"a": "1"}}}, None),
    ],
)
def test_values_are_compared_of_one_function(old: dict[str, Any], new: dict[str, Any], same: bool | None) -> None:
    assert same_values(op(**old), op(**new)) is same


def test_values_of_java_are_what_the_function_holds() -> None:
    captured = code(captured=(Captured(name="limit", digest="9"),))
    assert values_of(op(function=captured)) == (("limit", "9"),)
    assert values_of(op()) is None


def test_what_a_savepoint_recorded_is_marked() -> None:
    assert [recorded(op(detail=detail)) for detail in ({}, {"recorded": True}, {"recorded": False})] == [
        False,
        True,
        False,
    ]


COUNT = {"detail": {"function": "m.Count"}}


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (op("Count", states=(N,), **COUNT), op("Count", states=(N,), **COUNT), 4),
        (op("Count", **COUNT), op("Count"), 1),
        (op("Count", **COUNT), op(**COUNT), 1),
        (op(states=(N,)), op("Count", states=(N,)), 1),
        (op("Count"), op("Count"), 1),
        (op(**COUNT), op(**COUNT), 1),
        (op(), op(), 1),
        (op(), op("Filter"), 0),
        (op("Count"), op("Count", kind="map"), 0),
        (op("Count"), op("Other"), 0),
    ],
)
def test_operators_are_found_by_what_they_have_in_common(one: Operator, other: Operator, alike: int) -> None:
    assert [len(group) for group in Index([other]).alike(one)] == [1] * alike


def test_names_that_both_programs_have_are_kept() -> None:
    before, after = program("1", op("a"), op("b"), op()), program("2", op("b"), op("c"), op())
    assert kept_names(before, after) == {"b"}


def each(*facts: dict[str, Any]) -> list[Operator]:
    return [op(**{"id": f"{place:032x}", "position": place} | one) for place, one in enumerate(facts)]


A, B, STATE_N = {"name": "a"}, {"name": "b"}, {"states": (N,)}


@pytest.mark.parametrize(
    ("lost", "fresh", "found"),
    [
        ([A, B], [B, A], {0: 1, 1: 0}),
        ([A, A], [A], {0: 0}),
        ([A, A], [A, A], {0: 0, 1: 1}),
        ([A | COUNT, A], [A, A | COUNT], {0: 1, 1: 0}),
        ([A | COUNT], [B | COUNT], {0: 0}),
        ([A | STATE_N], [B | STATE_N], {0: 0}),
        ([COUNT, A | COUNT], [A, COUNT], {0: 1, 1: 0}),
        ([{}], [{}], {0: 0}),
        ([A], [B], {}),
        ([{"position": 5}, {"position": 1}], [{}], {1: 0}),
        ([{"name": "kept"} | COUNT], [COUNT], {}),
        ([COUNT], [{"name": "kept"} | COUNT], {}),
        ([COUNT], [{"name": "kept"} | COUNT, {"name": "kept"} | COUNT, COUNT], {0: 2}),
        ([{"name": "kept"}], [{"name": "kept"}], {0: 0}),
        ([COUNT, {"name": "kept"} | COUNT, COUNT], [COUNT, COUNT], {0: 0, 2: 1}),
        ([{"name": "kept"} | COUNT, A | COUNT | STATE_N], [STATE_N], {1: 0}),
    ],
)
def test_a_successor_has_most_in_common_and_serves_once(
    lost: list[dict[str, Any]], fresh: list[dict[str, Any]], found: dict[int, int]
) -> None:
    before, after = each(*lost), each(*fresh)
    assert find_successors(before, after, frozenset({"kept"})) == {
        before[old].id: after[new] for old, new in found.items()
    }


def of_query(kind: str, number: int, told: str, source: str = "src", **more: Any) -> Operator:
    """An operator of a query, whose names are numbered through the whole job."""
    return op(
        f"{kind}[{number}]",
        id=f"{kind}{number}",
        description=f"[{number}]:{kind}({told})",
        detail={"unnamed": True, "function": "org.apache.flink.table.Sums", "origins": [f"Source: {source}[{number}]"]},
        **more,
    )


@pytest.mark.parametrize(
    ("old", "right", "wrong"),
    [
        (
            of_query("GroupAggregate", 6, "groupBy=[k], select=[k, COUNT(*) AS n]"),
            of_query("GroupAggregate", 13, "groupBy=[k], select=[k, COUNT(*) AS n, SUM(v) AS s]"),
            of_query("GroupAggregate", 6, "groupBy=[k2], select=[k2, COUNT(*) AS n]"),
        ),
        (
            of_query("GroupAggregate", 6, "groupBy=[k], select=[k, COUNT(*) AS n]"),
            of_query("GroupAggregate", 13, "groupBy=[k], select=[k, COUNT(*) AS n]"),
            of_query("GroupAggregate", 6, "groupBy=[k], select=[k, SUM(v) AS n]"),
        ),
        (
            of_query("GroupAggregate", 6, "groupBy=[k], select=[k, COUNT(*) AS n]"),
            of_query("GroupAggregate", 13, "groupBy=[k], select=[k, SUM(v) AS s]"),
            of_query("GroupAggregate", 6, "groupBy=[k], select=[k, COUNT(*) AS n]", source="other"),
        ),
        (
            of_query("TableSourceScan", 1, "table=[[c, d, b]], fields=[id]", position=1),
            of_query("TableSourceScan", 2, "table=[[c, d, b]], fields=[id, v]", position=2),
            of_query("TableSourceScan", 1, "table=[[c, d, a]], fields=[id]", position=1),
        ),
    ],
    ids=["keys", "all that is said", "sources", "tables"],
)
def test_operators_of_queries_are_known_by_what_they_say(old: Operator, right: Operator, wrong: Operator) -> None:
    assert find_successors([old], [wrong, right]) == {old.id: right}


def test_an_operator_of_a_query_that_says_something_else_is_known_by_its_function() -> None:
    old = of_query("GroupAggregate", 6, "groupBy=[k], select=[k]")
    other = of_query("GroupAggregate", 7, "groupBy=[k2], select=[k2]")
    assert find_successors([old], [other]) == {old.id: other}
