"""The model of a plan: what is read, what is refused, and that what is written is read again and follows the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from compat import schemas
from compat.compiler.configuration import FILE_MERGING, PYTHON_CHAINING
from compat.loader.topology import plan_of
from compat.plan.as_run import KEPT_BY
from compat.plan.facts import facts_of
from compat.plan.reading import PlanError, from_plain, read
from compat.plan.writing import dump, encoded, plain
from compat.state.model.job import FORMAT, PYTHON_EXECUTION_MODE, STATE_BACKEND, Plan, Refused, Settings, Statement
from compat.state.model.operators import Merged, Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import Serializers, State, StateKind, StateScope

KEPT = sorted(Path(__file__).parent.glob("format_*/*.json"))
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("plan"))
OPS = [
    {"id": "in", "kind": "source"},
    {"id": "key", "kind": "key_by", "inputs": ["in"]},
    {"id": "count", "kind": "keyed_process", "inputs": ["key"], "states": [{"name": "n", "type": "Long"}]},
    {"id": "out", "kind": "print", "inputs": ["count"]},
]
(PLAN,) = (plan for plan in [plan_of({"ops": OPS}, "2.3", {})] if isinstance(plan, Plan))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_plan_of_each_format_is_read_and_written_as_it_was(path: Path) -> None:
    text = path.read_bytes()

    assert dump(read(text)).encode("utf-8") == text
    assert plain(from_plain(json.loads(text))) == json.loads(text)
    VALIDATOR.validate(json.loads(text))


def test_there_are_kept_plans_of_each_kind() -> None:
    kinds = [type(read(path.read_bytes())) for path in KEPT]

    assert kinds.count(Refused) == 3
    assert kinds.count(Plan) == len(KEPT) - 3
    assert {json.loads(path.read_text(encoding="utf-8"))["format"] for path in KEPT} == set(range(1, FORMAT + 1))


def changed(**fields: Any) -> bytes:
    """The plan with other fields, a path of fields and places joined by ``__``."""
    value = plain(PLAN)
    for path, given_value in fields.items():
        *way, last = path.split("__")
        part: Any = value
        for step in way:
            part = part[int(step)] if step.isdigit() else part[step]
        if given_value is ...:
            del part[last]
        else:
            part[last] = given_value
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"operators": ...}, "operators"),
        ({"operators__1__vertex": ...}, "operators[1].vertex"),
        ({"operators__0__operator_id": "short"}, "operators[0].operator_id"),
        ({"operators__0__operator_id": "A" * 32}, "operators[0].operator_id"),
        ({"operators__0__parallelism": "2"}, "operators[0].parallelism"),
        ({"operators__0__parallelism": 2.5}, "operators[0].parallelism"),
        ({"operators__0__parallelism": True}, "operators[0].parallelism"),
        ({"operators__0__parallelism": 2**31}, "operators[0].parallelism"),
        ({"operators__0__has_state": 1}, "operators[0].has_state"),
        ({"operators__0__detail": []}, "operators[0].detail"),
        ({"operators__0__detail__window": 1}, "operators[0].detail.window"),
        ({"operators__1__states__0__kind": "heap"}, "operators[1].states[0].kind"),
        ({"operators__1__states__0__ttl": 2**63}, "operators[1].states[0].ttl"),
        ({"operators__0__source": {"file": "a.py", "line": -1}}, "operators[0].source.line"),
        ({"operators__0__source": {"file": "a.py", "line": 1, "end": [1]}}, "operators[0].source.end"),
        ({"stream_graph__edges__0__chainable": None}, "stream_graph.edges[0].chainable"),
        ({"job_graph__vertices__0__inputs": {}}, "job_graph.vertices[0].inputs"),
        ({"execution_graph": None}, "execution_graph"),
        ({"format": 0}, "format"),
        ({"format": FORMAT + 1}, "format"),
        ({"format": "1"}, "format"),
        ({"format": True}, "format"),
        ({"format": ...}, "format"),
        ({"error": {"stage": "build", "class": "E"}}, "error.message"),
    ],
    ids=lambda given_value: given_value if isinstance(given_value, str) else "",
)
def test_what_is_wrong_is_told_by_its_field(fields: dict[str, Any], field: str) -> None:
    for reading in (read, lambda text: from_plain(json.loads(text))):
        with pytest.raises(PlanError) as caught:
            reading(changed(**fields))
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "not JSON"),
        (b"[]", "object"),
        (b"[" * 1_000_000, "object"),
        (b'{"format": 1, "new": ' + b"[" * 1_000_000, "nested too deeply"),
        (b'{"format": 1, "operators": ' + b"[" * 1_000_000, "nested too deeply|missing|expected"),
        (b'{"format": 1, "flink": "\xff"}', "not JSON"),
        (b'{"format": 1} {}', "not JSON"),
        (b'{"format": NaN}', "not JSON|format"),
        (b'{"format": ' + b"9" * 10_000 + b"}", "format|not JSON"),
    ],
    ids=range(9),
)
def test_hostile_texts_are_refused(text: bytes, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        read(text)


def test_a_text_beyond_the_limit_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compat.plan.reading.LARGEST", 100)
    with pytest.raises(PlanError, match="at most 100"):
        read(encoded(PLAN))


def test_fields_of_a_newer_version_pass() -> None:
    assert read(changed(new={"a": [1]}, operators__0__new="x")) == PLAN


def test_the_settings_bear_the_names_of_options() -> None:
    options = {PYTHON_CHAINING, PYTHON_EXECUTION_MODE, FILE_MERGING, STATE_BACKEND, KEPT_BY}
    assert options <= set(Settings.__annotations__)


def test_facts_are_the_plan_s_own_records() -> None:
    program = facts_of(PLAN, name="job", kind="plan")

    assert program.operators is PLAN.operators
    assert [vertex.operators[0] for vertex in program.vertices] == [
        vertex.chain[0].operator_id for vertex in PLAN.job_graph.vertices
    ]


TEXT = st.text(max_size=8)
IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
PLACES = st.builds(
    SourceLine,
    TEXT,
    st.integers(0, 2**31 - 1),
    st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.none() | TEXT,
    st.none() | TEXT,
)
SNAPSHOTS = st.none() | st.binary(max_size=8)
STATES = st.builds(
    State,
    name=TEXT,
    kind=st.sampled_from(StateKind),
    scope=st.sampled_from(StateScope),
    type=st.none() | TEXT,
    ttl=st.none() | st.integers(0, 2**63 - 1),
    built_in=st.booleans(),
    keys=st.none() | st.integers(0, 2**63 - 1),
    serializers=st.none() | st.builds(Serializers, key=SNAPSHOTS, namespace=SNAPSHOTS, value=SNAPSHOTS),
)
OPERATORS = st.builds(
    Operator,
    id=IDS,
    user_hash=st.none() | IDS,
    uid=st.none() | TEXT,
    name=TEXT,
    kind=TEXT,
    description=st.none() | TEXT,
    parallelism=NUMBERS,
    parallelism_configured=st.booleans(),
    max_parallelism=NUMBERS,
    vertex=IDS,
    node=NUMBERS,
    position=NUMBERS,
    chained_outputs=NUMBERS,
    inputs=st.lists(IDS, max_size=2).map(tuple),
    source=st.none() | PLACES,
    states=st.none() | st.lists(STATES, max_size=2).map(tuple),
    merged=st.lists(st.builds(Merged, name=TEXT, uid=st.none() | TEXT), max_size=2).map(tuple),
    detail=st.fixed_dictionaries({}, optional={"class": TEXT, "timers": st.booleans(), "own_max_parallelism": NUMBERS}),
    exec_node=st.none() | TEXT,
)
PLANS = st.builds(
    lambda operators, language, statements, job_name: replace(
        PLAN, operators=operators, language=language, statements=statements, job_name=job_name
    ),
    st.lists(OPERATORS, max_size=2).map(tuple),
    st.sampled_from([None, "python", "java", "sql", "topology"]),
    st.lists(st.builds(Statement, text=TEXT, file=TEXT, line=st.integers(0, 9)), max_size=2).map(tuple),
    TEXT,
)


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_what_is_written_is_read_again_and_follows_the_schema(plan: Plan) -> None:
    for text in (encoded(plan), dump(plan).encode("utf-8")):
        again = read(text)
        assert again == plan
        assert encoded(again) == encoded(plan)  # places are equal that end elsewhere
    assert from_plain(plain(plan)) == plan
    VALIDATOR.validate(plain(plan))


@settings(max_examples=60, deadline=None)
@given(PLANS, st.data())
def test_half_of_a_surrogate_pair_comes_through(plan: Plan, data: st.DataObject) -> None:
    odd = replace(plan, job_name="\ud800" + data.draw(TEXT))

    assert read(encoded(odd)) == odd
    assert read(dump(odd).encode("utf-8")) == odd


def test_what_says_nothing_is_left_out() -> None:
    written = plain(PLAN)

    assert {"language", "statements", "file", "job"}.isdisjoint(written)
    assert {"description", "exec_node"}.isdisjoint(written["operators"][0])
    assert "serializers" not in written["operators"][1]["states"][0]


def test_bytes_are_base64() -> None:
    state = State(
        name="n", kind=StateKind.VALUE, scope=StateScope.KEYED, serializers=Serializers(key=b"\x00\xff", value=b"")
    )
    assert json.loads(encoded(state))["serializers"] == {"key": "AP8=", "value": ""}
    assert msgspec.json.decode(encoded(state), type=State) == state
