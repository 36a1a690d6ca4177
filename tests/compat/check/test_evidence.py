"""What was compared of a state is what speaks for it, and each thing that is missing is a gap of its own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compat.check.catalogue import RULES
from compat.check.context import Check, CheckOptions
from compat.check.evidence import gaps, of_state, of_the_rest
from compat.check.findings import Evidence, Gap, Proof, Witness
from compat.check.mapping import Pair, map_state
from compat.loader.jvm.answers import Answer, Answers, StateChange
from compat.loader.jvm.messages import Rehearsal, StateReading
from compat.state.model.code import UserCode, WrittenClass
from compat.state.model.contents import Reading, Shape, Step
from compat.state.model.operators import Operator
from compat.state.model.states import More, Serializers, State, StateKind, StateScope
from compat.state.names import END_OF_INPUT, WINDOW_CONTENTS
from tests.compat.builders import operator, program, value_state

N = value_state("n")
PICKLED = value_state("n", "Pickled")
ALIKE = ("id", "operator's name", "operator's kind")
READ = Evidence((*ALIKE, "name", "kind", "type", "key type"), Witness.READERS)


def checked(old: Operator, new: Operator, *others: Operator, answer: Answer | None = None) -> Check:
    before, after = (program(f"{len(each)}.py", *each) for each in ([old], [new, *others]))
    answers = None if answer is None else Answers(operators={new.node: answer})
    return Check(before, after, map_state(before, after), CheckOptions(), {}, answers=answers)


def proof(old: State, *new: State, before: Any = None, after: Any = None, **more: Any) -> Proof | None:
    """What speaks for the state ``old``, where NEW declares ``new``; of operators of which more is known."""
    check = checked(
        operator("Count", uid="u", states=(old,), **(before or {})),
        operator("Count", uid="u", states=new, **(after or {})),
        **more,
    )
    (pair,) = check.mapping.pairs
    return of_state(check, pair, old)


def cause(found: Proof | None) -> str | None:
    return found.cause if isinstance(found, Gap) else None


def compared(found: Proof | None) -> tuple[str, ...]:
    assert isinstance(found, Evidence), found
    assert found.witness is Witness.READERS
    return found.compared


def state(kind: StateKind = StateKind.VALUE, **more: Any) -> State:
    fields: dict[str, Any] = {
        "name": "n",
        "kind": kind,
        "scope": StateScope.KEYED,
        "type": "long",
        "key_type": "string",
    }
    return State(**fields | more)


def test_all_that_is_alike_is_compared() -> None:
    assert proof(N, N) == READ
    code = {"function": UserCode(name="m.Count", digest="1")}
    assert compared(proof(N, N, before=code, after=code))[:4] == (*ALIKE, "operator's code")


@pytest.mark.parametrize(
    ("after", "missing"),
    [
        ({"name": "other"}, "operator's name"),
        ({"kind": "map"}, "operator's kind"),
        ({"function": UserCode(name="m.Count", digest="2")}, "operator's code"),
        ({"function": None}, "operator's code"),
    ],
)
def test_what_differs_does_not_speak_for_it(after: dict[str, Any], missing: str) -> None:
    facts = {"uid": "u", "states": (N,), "function": UserCode(name="m.Count", digest="1")}
    check = checked(operator("Count", **facts), operator(**{"name": "Count"} | facts | after))
    (pair,) = check.mapping.pairs
    assert set(compared(of_state(check, pair, N))) == {*READ.compared, "operator's code"} - {missing}


def test_neither_having_code_is_not_having_the_same() -> None:
    assert "operator's code" not in compared(proof(N, N))


@pytest.mark.parametrize("detail", [{}, {"python": "process"}, {"recorded": True}])
@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        (state(type=None), state(), ("type OLD", "type OLD")),
        (state(), state(type=None), ("type NEW", "type NEW")),
        (state(type=None), state(type=None), (None, "type OLD")),
        (state(key_type=None), state(), (None, "key type OLD")),
        (state(), state(key_type=None), (None, "key type NEW")),
        (state(key_type=None, scope=StateScope.OPERATOR), state(scope=StateScope.OPERATOR), (None, None)),
        (state(type=None, built_in=True), state(built_in=True), (None, None)),
        (
            state(type=None, built_in=True, name=WINDOW_CONTENTS),
            state(built_in=True, name=WINDOW_CONTENTS),
            (None, "type OLD"),
        ),
        (state(StateKind.TIMERS, type=None), state(StateKind.TIMERS), (None, None)),
        (state(StateKind.COORDINATOR, type=None), state(StateKind.COORDINATOR), (None, None)),
        (state(StateKind.TIMERS, type=None, key_type=None), state(StateKind.TIMERS, type=None), (None, "key type OLD")),
    ],
)
def test_a_type_that_one_side_does_not_tell_is_a_gap(
    old: State, new: State, missing: tuple[str | None, str | None], detail: dict[str, Any]
) -> None:
    """A topology need not tell all that a program in Python tells; two savepoints are held against each other elsewhere."""
    found = proof(old, new, before={"detail": detail}, after={"detail": detail})
    assert cause(found) == (None if "recorded" in detail else missing["python" in detail])
    if isinstance(found, Evidence):
        told = {"type": None not in (old.type, new.type), "key type": None not in (old.key_type, new.key_type)}
        assert set(found.compared[3:]) == {"name", "kind"} | {what for what, both in told.items() if both}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"1", b"2", "serializers"),
        (b"1", None, "type NEW"),
        (None, b"2", "key type"),
    ],
)
def test_serializers_are_compared_instead_of_types(old: bytes | None, new: bytes | None, found: str) -> None:
    before, after = (state(serializers=Serializers(value=value)) for value in (old, new))
    told = proof(before, after)
    assert cause(told) == found if isinstance(told, Gap) else compared(told)[-1] == found
    assert compared(proof(before, state())) == compared(proof(state(), after)) == READ.compared


@pytest.mark.parametrize(
    "other",
    [
        (),
        (value_state("m"),),
        (state(scope=StateScope.OPERATOR),),
        (state(built_in=True),),
        (value_state("m"), state(scope=StateScope.BROADCAST)),
    ],
)
def test_what_new_does_not_declare_has_no_proof(other: tuple[State, ...]) -> None:
    assert proof(N, *other) is None
    late = proof(N, *other, after={"more": More(why="it asks late")})
    assert isinstance(late, Gap)
    assert late.cause == "more"
    assert "it asks late" in late.why
    assert proof(N, *other, N) == READ


PAIR_CHANGED = "Pair changed, and a pickle has the fields and constants that it had"
CLASSES = {"m:Pair": "1", "m:Other": "2"}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({}, {}, ""),
        ({"classes_written": CLASSES}, {"classes_written": CLASSES}, ""),
        (
            {"classes_written": CLASSES},
            {"classes_written": {"m:Pair": "3", "m:Other": "2"}},
            PAIR_CHANGED,
        ),
        ({"classes_written": CLASSES}, {"classes_written": {"m:Pair": "3", "m:Other": "3"}}, "Pair and Other changed"),
        ({"classes_written": CLASSES}, {"classes_written": {"m:Another": "3"}}, ""),
        ({"classes_written": CLASSES}, {}, ""),
        ({"classes_written": CLASSES}, {"classes_present": {**CLASSES, "m:Pair": "3"}}, PAIR_CHANGED),
        ({"classes_made": ["m:Pair"]}, {"classes_known": ["m:Pair"]}, "the fields that Pair had"),
        ({"classes_made": ["m:Pair"]}, {"classes_made": ["m:Pair"]}, "the fields that Pair had"),
        ({"classes_made": ["m:Pair"]}, {"classes_known": ["m:Other"]}, ""),
        (
            {"classes_made": ["m:Pair"], "classes_shaped": {"m:Pair": ["object", "field a"]}},
            {"classes_known": ["m:Pair"], "classes_shaped": {"m:Pair": ["object", "field a"]}},
            "",
        ),
        ({"classes_pickled": {"n": ["m:Pair"]}}, {"classes_known": ["m:Pair"]}, "the fields that Pair had"),
        ({"classes_pickled": {"m": ["m:Pair"]}}, {"classes_known": ["m:Pair"]}, ""),
        ({"classes_pickled": {"n": []}, "classes_made": ["m:Pair"]}, {"classes_known": ["m:Pair"]}, ""),
    ],
)
def test_pickles_of_classes_that_changed_are_a_gap(before: dict[str, Any], after: dict[str, Any], changed: str) -> None:
    details = {"before": {"detail": before}, "after": {"detail": after}}
    found = proof(PICKLED, PICKLED, **details)
    assert cause(found) == ("pickles" if changed else None)
    assert isinstance(found, Evidence) or f", and {changed}" in found.why
    for other in (N, state(type="Pickled", built_in=True)):
        assert isinstance(proof(other, other, **details), Evidence)


SAYS = Shape(kind="text", parts=((Shape(kind="dict", keys=("a",)),),))
NUMBER, TEXT, ITEM = Shape(kind="number"), Shape(kind="text"), Reading(steps=(Step(kind="item"), Step(kind="there")))


@pytest.mark.parametrize(
    ("old", "new", "reads", "why"),
    [
        (NUMBER, NUMBER, None, ""),
        (NUMBER, TEXT, None, "OLD puts a number into the state 'n', and NEW puts text"),
        (NUMBER, TEXT, (), ""),
        (NUMBER, TEXT, (Reading(),), "OLD puts a number into the state 'n', and NEW puts text"),
        (NUMBER, NUMBER, (ITEM,), "OLD puts a number into the state 'n', and NEW reads value[0] of it"),
        (NUMBER, None, (ITEM,), "OLD puts a number into the state 'n', and NEW reads value[0] of it"),
        (TEXT, NUMBER, (ITEM,), ""),
        (None, TEXT, (ITEM,), ""),
    ],
)
def test_pickles_that_new_reads_in_another_way_are_a_gap(old: Any, new: Any, reads: Any, why: str) -> None:
    before, after = ({"shapes_put": {} if shape is None else {"n": (shape,)}} for shape in (old, new))
    found = proof(PICKLED, PICKLED, before={"detail": before}, after={"detail": after | read_by(reads)})
    assert cause(found) == ("shapes" if why else None)
    assert isinstance(found, Evidence) or found.why.endswith(why)
    assert isinstance(proof(N, N, before={"detail": before}, after={"detail": after | read_by(reads)}), Evidence)


@pytest.mark.parametrize("type", ["Pickled", "String"])
def test_what_old_looked_for_in_its_values_is_there(type: str) -> None:
    before = {"shapes_put": {"n": (SAYS,)}, "shapes_read": {"n": (ITEM, Reading())}}
    for more in (before, {"shapes_put": {"n": (SAYS,)}, "shapes_read": {"n": (ITEM,)}}):
        given = state(type=type)
        assert isinstance(
            proof(given, given, before={"detail": before}, after={"detail": {**before, **more}}), Evidence
        )


def test_texts_of_json_are_compared_by_what_they_say() -> None:
    text = state(type="String")
    after = {"detail": {"shapes_read": {"n": (Reading(steps=(Step(kind="json"), *ITEM.steps)),)}}}
    found = proof(text, text, before={"detail": {"shapes_put": {"n": (SAYS,)}}}, after=after)
    assert cause(found) == "shapes"
    assert isinstance(proof(text, text, before={"detail": {"shapes_put": {"n": (NUMBER,)}}}, after=after), Evidence)


def read_by(reads: Any) -> dict[str, Any]:
    """What a plan tells of the readings of the state."""
    return {} if reads is None else {"shapes_read": {"n": reads}}


UNTOLD = StateChange(name="n", scope="keyed", fails=False, reasons=(), untold=True)
TOLD = StateChange(name="n", scope="keyed", fails=False, reasons=("a field",))
WRITTEN = {writer: state(classes=(WrittenClass(name="m.Pair", writer=writer),)) for writer in ("code", "fields")}
VALUES = Rehearsal(states=(StateReading(scope="keyed", name="n", backend="rocksdb"),))


@pytest.mark.parametrize(
    ("answer", "old", "told"),
    [
        (Answer(rehearsal=Rehearsal()), N, Witness.FLINK),
        (Answer(rehearsal=VALUES), N, Witness.VALUES),
        (Answer(rehearsal=VALUES, migrations=(UNTOLD,)), N, Witness.VALUES),
        (Answer(rehearsal=VALUES, migrations=(UNTOLD,)), value_state("m"), Witness.FLINK),
        (Answer(rehearsal=VALUES), state(StateKind.LIST, scope=StateScope.OPERATOR), Witness.FLINK),
        (Answer(rehearsal=Rehearsal(), migrations=(TOLD,)), N, Witness.FLINK),
        (Answer(rehearsal=Rehearsal(), migrations=(TOLD,)), WRITTEN["fields"], Witness.FLINK),
        (Answer(rehearsal=Rehearsal(), migrations=(TOLD,)), WRITTEN["code"], "migration"),
        (Answer(rehearsal=Rehearsal()), WRITTEN["code"], Witness.FLINK),
        (Answer(rehearsal=Rehearsal(), migrations=(UNTOLD,)), N, "migration"),
    ],
)
def test_what_flink_said_is_the_proof(answer: Answer, old: State, told: Witness | str) -> None:
    found = proof(old, old, answer=answer)
    if isinstance(told, str):
        assert cause(found) == told
    else:
        last = "values" if told is Witness.VALUES else "type"
        assert found == Evidence((*ALIKE, "name", "kind", last), told)


def test_values_that_another_operator_is_made_with_now_are_a_gap() -> None:
    def made(id: str, limit: str) -> Operator:
        return operator("Map", uid=id, detail={"function": "m.Count", "made_with": {"limit": limit}})

    check = checked(made("u", "1"), made("u", "2"), made("v", "1"))
    (pair,) = check.mapping.pairs
    (one,) = pair.old.states or ()
    assert cause(of_state(check, pair, one)) == "values"
    check = checked(made("u", "1"), made("u", "2"), made("v", "3"))
    assert of_state(check, check.mapping.pairs[0], one) == READ


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (None, None, None),
        (None, "1", None),
        ("1", "1", Witness.CODE),
        ("1", "2", "more"),
        ("1", None, "more"),
        ("", "", "more"),
    ],
)
def test_the_rest_is_kept_where_the_code_is_the_same(
    old: str | None, new: str | None, told: Witness | str | None
) -> None:
    """An empty text is code that cannot be told."""
    before, after = (
        operator("Count", uid="u", states=(), more=None if code is None else More(why="late", code=code or None))
        for code in (old, new)
    )
    found = of_the_rest(Pair(before, after, "uid"))
    assert (cause(found) if isinstance(found, Gap) else found and found.witness) == told
    check = checked(before, after)
    assert [gap.cause for _, _, gap in gaps(check, [])] == ([told] if told == "more" else [])


def test_the_code_is_what_was_compared_of_the_rest() -> None:
    one = operator("Count", uid="u", more=More(why="late", code="1"))
    assert of_the_rest(Pair(one, one, "uid")) == Evidence(("id", "code"), Witness.CODE)


def test_gaps_are_those_of_operators_that_keep_their_state_and_whose_states_are_known() -> None:
    untyped, known = (
        operator("Count", uid="u", states=(value_state("n", None), N)),
        operator("Count", uid="u", states=(N,)),
    )
    unknown = operator("Count", uid="u", states=None)
    assert [(state, gap.cause) for _, state, gap in gaps(checked(untyped, known), [])] == [
        (untyped.states[0], "type OLD")
    ]
    for old, new in ((untyped, unknown), (unknown, known), (operator("Count", uid="v"), known)):
        assert list(gaps(checked(old, new), [])) == []


def test_a_state_that_new_lacks_is_a_gap_until_a_rule_tells_of_it() -> None:
    old, new = operator("Count", uid="u", states=(N,)), operator("Count", uid="u", states=())
    check = checked(old, new)
    assert [gap.cause for _, _, gap in gaps(check, [])] == ["gone"]
    told = check.finding(RULES["CMP401"], "n is gone", consequence="", reason="", old=old, state="n")
    assert list(gaps(check, [told])) == []


TIMERS = state(StateKind.TIMERS, name="_timer_state/user-timers", built_in=True)


@pytest.mark.parametrize(
    ("queue", "found"),
    [
        ("_timer_state/processing_user-timers", True),
        ("_timer_state/event_user-timers", True),
        ("_timer_state/other", False),
    ],
)
def test_timers_are_found_by_their_service(queue: str, found: bool) -> None:
    other = state(StateKind.TIMERS, name=queue, built_in=True)
    assert (proof(other, TIMERS) is not None) == (proof(TIMERS, other) is not None) == found


def test_timers_that_are_never_set_are_not_missed() -> None:
    assert proof(TIMERS, before={"detail": {"timers": True}}) is None
    assert compared(proof(TIMERS, before={"detail": {"timers": False}})) == ("operator's code",)


def test_flink_goes_on_without_the_mark_of_an_end() -> None:
    mark = state(StateKind.LIST, name=END_OF_INPUT, scope=StateScope.OPERATOR, key_type=None, built_in=True)
    assert compared(proof(mark)) == ("operator's code",)
    assert proof(msgspec.structs.replace(mark, built_in=False)) is None
