"""What Flink restores without an error and wrong, as the user's classes differ: told from two plans, without the classes."""

import msgspec
import pytest

from compat.check.catalogue import RULES
from compat.check.decision import check
from compat.check.findings import Level
from compat.comparison import Comparison, decide
from compat.loader.inputs import Input, InputKind
from compat.loader.jvm.answers import answers_of
from compat.loader.jvm.messages import JarProgram, Restore
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from compat.plan.facts import facts_of
from compat.plan.reading import read
from compat.plan.writing import dump
from compat.savepoint.load import read_old
from compat.savepoint.names import Names, of_program
from compat.sides import Savepoint
from compat.state.model.job import Plan
from tests.compat.loader.jvm.golden import CLASSES, program, records, savepoint
from tests.compat.loader.jvm.support import build_all, built

ERROR, UNKNOWN, WARNING, NOTE = Level.ERROR, Level.UNKNOWN, Level.WARNING, Level.NOTE
CASES = {
    "KryoMoved": {("CMP415", ERROR)},
    "KryoRenamed": {("CMP415", WARNING)},
    "KryoAdded": {("CMP415", ERROR)},
    "KryoRetyped": set(),  # Kryo writes an int as it does a long; Flink 2.3 read -70003 back on both backends
    "KryoSame": set(),
    "KryoInside": {("CMP415", ERROR)},
    "KryoInPojo": {("CMP415", ERROR)},
    "KryoInArray": {("CMP415", ERROR)},
    "KryoSuper": {("CMP415", ERROR)},
    "KryoEnumAppended": set(),
    "KryoEnumReordered": {("CMP415", ERROR)},
    "KryoEnumNamed": {("CMP415", ERROR)},
    "KryoEnumRemoved": {("CMP415", ERROR)},
    "KryoEnumRenamed": {("CMP415", UNKNOWN)},
    "KryoInterface": {("CMP415", ERROR)},
    "KryoInterfaceElsewhere": {("CMP415", WARNING)},
    "KryoInterfaceSame": set(),
    "KryoUnknown": {("CMP415", NOTE)},
    "KryoWritesItself": {("CMP420", ERROR)},
    "KryoByJava": {("CMP415", ERROR)},
    "KryoByJavaGrown": set(),
    "PojoSubclass": {("CMP415", ERROR)},
    "PojoFieldGone": {("CMP432", WARNING)},
    "PojoFieldRenamed": {("CMP432", ERROR)},
    "PojoFieldAdded": set(),
    "PojoFieldInside": {("CMP432", ERROR)},
    "PojoSubclassElsewhere": {("CMP415", WARNING)},
    "ValueType": {("CMP420", ERROR)},
    "KeyHash": {("CMP416", ERROR)},
    "KeyHashRewritten": {("CMP416", WARNING)},
    "KeyHashSame": set(),
    "KeyHashInside": {("CMP416", ERROR)},
    "KeyEquals": {("CMP416", WARNING)},
    "KeyByIdentity": {("CMP416", ERROR)},
    "KeyByName": set(),
    "KeyOfArray": {("CMP416", ERROR)},
    "KeyOfArrayByContent": set(),
    "KeyOfTuple": set(),
    "KeyRecord": {("CMP416", ERROR)},
    "KeyRecordSame": set(),
    "KeyExpression": {("CMP419", ERROR)},
    "KeyLambdaToClass": set(),
    "KeyReference": set(),
    "KeyCaptured": {("CMP419", ERROR)},
    "KeyRefactored": {("CMP419", WARNING)},
    "KeyBranches": {("CMP419", ERROR)},
    "OwnSerializer": {("CMP420", ERROR)},
    "OwnSerializerSame": set(),
    "OwnSerializerDecides": {("CMP420", UNKNOWN)},
    "FoldReducing": {("CMP421", WARNING)},
    "FoldMoved": set(),
    "FoldCaptured": {("CMP421", WARNING)},
    "FoldRolling": {("CMP421", WARNING)},
    "FoldWindow": {("CMP421", WARNING)},
    "FoldBuiltIn": {("CMP421", WARNING)},
    "AvroGenericAdded": {("CMP422", ERROR)},
    "AvroGenericShortened": set(),
    "AvroGenericMoved": {("CMP422", ERROR)},
}
"""Jobs in two versions, and what is found."""

NEAR_MISSES = {
    "CMP415": ("KryoMoved", "KryoSame"),
    "CMP416": ("KeyHash", "KeyHashSame"),
    "CMP419": ("KeyExpression", "KeyLambdaToClass"),
    "CMP420": ("OwnSerializer", "OwnSerializerSame"),
    "CMP421": ("FoldReducing", "FoldMoved"),
    "CMP422": ("AvroGenericAdded", "AvroGenericShortened"),
    "CMP432": ("PojoFieldRenamed", "PojoFieldAdded"),
}
"""For each rule about classes a pair where it speaks, and one much like it where it is silent."""

GOLDEN = {"aggregating_fn_changed": {("CMP421", WARNING)}, "ttl_enabled": set(), "pojo_field_added": set()}


@pytest.fixture(scope="module")
def plans(flink, java):
    """The plans of all jobs, by name and side, as they are read from their JSON."""
    asked = [(name, side) for side in ("old", "new") for name in CASES]
    programs = [JarProgram(path=str(CLASSES / f"{side}.jar"), main_class=f"cases.{name}") for name, side in asked]
    asked += [(name, side) for name in GOLDEN for side in ("old", "new")]
    programs += [program("2.3.0", name, side) for name in GOLDEN for side in ("old", "new")]
    made = {}
    for one, outcome in zip(asked, build_all(programs, flink, java, JvmOptions(options={})), strict=True):
        assert outcome.crash is None, (one, outcome.crash)
        made[one] = read(dump(plan_of(outcome.jobs[-1], one[0])).encode())
        assert isinstance(made[one], Plan)
    return made


def report(plans, name, old="old", new="new"):
    before, after = (facts_of(plans[name, side], name=side, kind="plan") for side in (old, new))
    return check(before, after)


def found(plans, name, old="old", new="new"):
    """The findings that are about classes, by rule and level."""
    return {(one.rule, one.level) for one in report(plans, name, old, new).findings if one.rule in NEAR_MISSES}


@pytest.mark.parametrize("name", [*CASES, *GOLDEN])
def test_what_is_found(plans, name):
    assert found(plans, name) == (CASES | GOLDEN)[name]


@pytest.mark.parametrize("name", [name for name in CASES if ("CMP416", ERROR) not in CASES[name]])
def test_nothing_is_found_between_a_job_and_itself(plans, name):
    assert {one for one in found(plans, name, "new", "new") if one[1] is not NOTE} == set()


def test_every_rule_about_classes_has_a_near_miss():
    assert NEAR_MISSES.keys() <= RULES.keys()
    for rule, (speaks, silent) in NEAR_MISSES.items():
        assert rule in {one for one, _ in CASES[speaks]}
        assert rule not in {one for one, _ in CASES[silent]}


def test_every_error_leaves_no_verdict_of_compatible(plans):
    for name, told in CASES.items():
        if any(level in (ERROR, UNKNOWN) for _, level in told):
            assert not report(plans, name).verdict.value.startswith("compatible"), name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("KryoMoved", "that of aa is read as last and that of last is read as zz"),
        ("KryoAdded", "KryoAdded$P has got the field bb"),
        ("KryoInside", "KryoInside$Inner has got the field name"),
        ("KryoEnumReordered", "RED is read as GREEN and GREEN is read as RED"),
        ("KryoEnumNamed", "RED is read as GREEN and GREEN is read as RED"),
        ("KryoEnumRemoved", "the constants GREEN of KryoEnumRemoved$Color are gone"),
        ("KryoByJava", "the serialVersionUID of KryoByJava$P was 1 and is 2"),
        ("PojoSubclass", "PojoSubclass$Below has got the field b"),
        ("KeyCaptured", "holds other values in argument0"),
        ("KeyRefactored", "for the records that were tried it gives the keys that it gave before"),
        ("KeyOfArray", "Two equal keys have different hash codes"),
        ("OwnSerializer", "its snapshot says of nothing that it cannot be read"),
        ("FoldReducing", "The code of cases.FoldReducing$Fn.open is another one"),
        ("FoldCaptured", "cases.FoldCaptured$Fn.open holds other values than before"),
        ("AvroGenericMoved", "The field c of R is where b was."),
    ],
)
def test_a_reason_says_what_differs(plans, name, words):
    said = " ".join(one.reason for one in report(plans, name).findings if one.rule in NEAR_MISSES)
    assert words.lower() in said.lower()


SAVED = {
    "kryo_same": ([("CMP415", UNKNOWN)], []),
    "enum_in_kryo_reordered": ([("CMP415", UNKNOWN)], [("CMP415", ERROR)]),
    "custom_ser_as_is_wrong": ([("CMP415", UNKNOWN)], [("CMP420", ERROR)]),
    "custom_ser_renamed_keep_snapshot": ([("CMP415", UNKNOWN)], []),
    "key_pojo_hash_changed": ([("CMP416", ERROR)], [("CMP416", ERROR), ("CMP416", ERROR)]),
    "pojo_field_added": ([], []),
    "reducing_fn_changed": ([], [("CMP421", WARNING)]),
}
"""Golden jobs, and what is found of classes in the savepoint that OLD left: without OLD's program, and with it (--names)."""


@pytest.fixture(scope="module")
def saved(flink, java):
    """The plans of both sides, and what became of the savepoint in NEW, by name."""
    olds = build_all([program("2.3.0", name, "old") for name in SAVED], flink, java, JvmOptions(options={}))
    asked = []
    for name in SAVED:
        metadata = (savepoint("2.3.0", name) / "_metadata").read_bytes()
        wanted = Restore(metadata=metadata, folder=str(savepoint("2.3.0", name)))
        asked.append((program("2.3.0", name, "new"), [wanted]))
    news = built(asked, flink, java, JvmOptions(options={}))
    answers = (answers_of(new.restored[0], {node.id: node for node in new.jobs[-1].nodes}) for new in news)
    return {
        name: (plan_of(old.jobs[-1], "old"), plan_of(new.jobs[-1], "new"), answer)
        for name, old, new, answer in zip(SAVED, olds, news, answers, strict=True)
    }


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", SAVED)
def test_what_is_found_in_a_savepoint(saved, name, named):
    old, new, answers = saved[name]
    path = str(savepoint("2.3.0", name))
    names = of_program(facts_of(old, name="old", kind="plan")) if named else Names()
    kept = Savepoint(read_old(Input(path, path, InputKind.SAVEPOINT), names))
    told = decide(kept, new, Comparison("old", "new"), {}, answers)
    assert [(one.rule, one.level) for one in told.findings if one.rule in NEAR_MISSES] == SAVED[name][named]


def test_values_in_a_wrong_key_group_are_counted(saved):
    misplaced = {
        name: sum(one.misplaced for one in answers.operators.values()) for name, (*_, answers) in saved.items()
    }
    assert misplaced.pop("key_pojo_hash_changed") > 0
    assert set(misplaced.values()) == {0}


def test_records_of_the_golden_jobs_agree():
    real = records()["2.3.0", "aggregating_fn_changed"]["attempts"]["hashmap"]
    assert (real["outcome"], real["silentlyWrong"]) == ("running", False)  # a warning


def test_a_plan_tells_nothing_of_values_but_their_digests(plans):
    (keep,) = (one for one in plans["KeyCaptured", "new"].operators if one.uid == "keep")
    (selector,) = keep.key_selectors
    assert [one.name for one in selector.captured] == ["argument0"]
    assert len(selector.captured[0].digest) == 16
    assert b'"4"' not in msgspec.json.encode(keep.key_selectors)


MOVED = {
    "PojoFieldUp": set(),
    "PojoFieldDown": {"PojoFieldDown$P.user"},
    "PojoSuperRenamed": {"PojoSuperRenamed$P.n"},
    "PojoFieldRenamed": {"PojoFieldRenamed$P.last"},
    "PojoFieldInside": {"PojoFieldInside$Inner.a"},
}
"""The fields whose values Flink passes over; what NEW's classes do not have where OLD's had it, only Flink tells."""


@pytest.fixture(scope="module")
def restored(flink, java):
    """Both plans of a pair, and what Flink made of OLD's empty state, by name."""
    jars = [JarProgram(path=str(CLASSES / "{}.jar"), main_class=f"cases.{name}") for name in MOVED]
    olds = build_all([of_side(one, "old") for one in jars], flink, java, JvmOptions(options={}))
    asked = [
        (of_side(one, "new"), [Restore(metadata=old.jobs[-1].savepoint)]) for one, old in zip(jars, olds, strict=True)
    ]
    return {
        name: (
            plan_of(old.jobs[-1], "old"),
            plan_of(new.jobs[-1], "new"),
            answers_of(new.restored[0], {node.id: node for node in new.jobs[-1].nodes}),
        )
        for name, old, new in zip(MOVED, olds, built(asked, flink, java, JvmOptions(options={})), strict=True)
    }


def of_side(one, side):
    return msgspec.structs.replace(one, path=one.path.format(side))


@pytest.mark.parametrize("name", MOVED)
def test_fields_whose_values_are_lost_are_named(restored, name):
    old, new, answers = restored[name]
    told = [one for one in decide(old, new, Comparison("old", "new"), {}, answers).findings if one.rule == "CMP432"]
    assert {one.subject for one in told} == MOVED[name]
    assert all(one.level is ERROR for one in told)


@pytest.mark.parametrize("name", ["PojoFieldUp", "PojoFieldDown", "PojoSuperRenamed"])
def test_a_field_that_another_class_declares_is_not_compatible_where_nobody_asks_flink(restored, name):
    old, new, _ = restored[name]
    assert not decide(old, new, Comparison("old", "new"), {}).verdict.value.startswith("compatible")
