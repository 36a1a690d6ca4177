"""Jobs in Java and SQL are what Flink made of them, and a restore ends as it did on a cluster."""

import re

import msgspec
import pytest

from compat.loader.jvm.answers import migrations, problems
from compat.loader.jvm.compiled import compiled
from compat.loader.jvm.differences import differences
from compat.loader.jvm.messages import JarProgram, Restore
from compat.loader.jvm.process import JvmOptions
from tests.compat.loader.jvm.golden import JAVA, PROGRAMS, SAMPLED, program, records, savepoint
from tests.compat.loader.jvm.support import build_all, built, flink_of

OPTIONS = JvmOptions(options={})
FIELDS = {
    "name": "name",
    "uid": "uid",
    "user_hash": "uidHash",
    "generated_id": "generated",
    "operator_id": "operatorId",
    "vertex": "vertex",
    "parallelism": "parallelism",
    "max_parallelism": "maxParallelism",
    "operator": "operator",
    "key_serializer": "keySerializer",
    "slot_sharing_group": "slotSharingGroup",
}
"""Fields of a node, and what the records call them."""
FAILED = ("restore-failed", "failed-while-running")


def pairs(version):
    return list(SAMPLED[version])


@pytest.fixture(scope="module")
def jobs(flink, java):
    """The jobs of all programs of 2.3.0, by name and side: all in one JVM."""
    asked = [(name, side) for name in pairs("2.3.0") for side in ("old", "new")]
    outcomes = build_all([program("2.3.0", *one) for one in asked], flink, java, OPTIONS)
    for one, outcome in zip(asked, outcomes, strict=True):
        assert outcome.crash is None, (one, outcome.crash)
        assert outcome.jobs, one
    return {one: outcome.jobs[-1] for one, outcome in zip(asked, outcomes, strict=True)}


def restores(flink, java, programs, savepoints):
    """What becomes of each savepoint in its program."""
    wanted = [[Restore(metadata=(folder / "_metadata").read_bytes(), folder=str(folder))] for folder in savepoints]
    outcomes = built(zip(programs, wanted, strict=True), flink, java, OPTIONS)
    restored = [one for outcome in outcomes for one in outcome.restored]
    assert not any(one.failure for one in restored)
    return [one.operators for one in restored]


@pytest.fixture(scope="module")
def restored(flink, java):
    """The restores of all savepoints of 2.3.0 into the new programs, by name."""
    names = pairs("2.3.0")
    programs = [program("2.3.0", name, "new") for name in names]
    return dict(zip(names, restores(flink, java, programs, [savepoint("2.3.0", name) for name in names]), strict=True))


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("name", pairs("2.3.0"))
def test_the_operators_are_those_that_flink_made(jobs, name, side):
    told = [msgspec.structs.asdict(node) for node in jobs[name, side].nodes]
    for one in told:
        one["operator"] = one["operator"].rpartition(".")[2]
    real = sorted(records()["2.3.0", name][side]["operators"], key=lambda one: one["node"])
    assert [[one[ours] for ours in FIELDS] for one in told] == [
        [one[flinks] for flinks in FIELDS.values()] for one in real
    ]


@pytest.mark.parametrize("name", pairs("2.3.0"))
def test_the_states_are_those_of_the_savepoint(jobs, name):
    contents = {one["operatorId"]: one["states"] for one in records()["2.3.0", name]["savepointContents"]}
    for node in jobs[name, "old"].nodes:
        assert node.states.unknown == ""
        told = {
            state.name: {part: serializer.snapshot for part, serializer in state.serializers.items()}
            for state in node.states.states
        }
        assert told == {
            state["name"]: {part: serializer["snapshot"] for part, serializer in state["serializers"].items()}
            for state in contents.get(node.generated_id, [])
        }


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("name", pairs("2.3.0"))
def test_our_compiler_makes_the_same_graphs(jobs, name, side):
    made = compiled(jobs[name, side])
    assert list(made.hashes.values())
    assert {vertex.name for vertex in made.job_graph.vertices} == {vertex.name for vertex in jobs[name, side].vertices}


def test_functions_and_what_folds_into_a_state_are_told_by_their_code(jobs):
    folds = [
        {
            state.name: (state.use.function.name, state.use.function.digest)
            for node in jobs["aggregating_fn_changed", side].nodes
            for state in node.states.states
            if state.use is not None and state.use.function is not None
        }["st"]
        for side in ("old", "new")
    ]
    assert folds[0][0] == folds[1][0] == "AggregatingFnChanged$Fn$1"
    assert folds[0][1] != folds[1][1]


def test_a_time_to_live_is_told(jobs):
    assert [
        [
            state.use.ttl
            for node in jobs["ttl_enabled", side].nodes
            for state in node.states.states
            if state.name == "st"
        ]
        for side in ("old", "new")
    ] == [[None], [3_600_000]]


def test_operators_have_the_lines_that_made_them(jobs):
    places = {node.name: str(node.source) for node in jobs["connect_swapped", "old"].nodes}
    assert places["co"] == "ConnectSwapped.main(ConnectSwapped.java:31)"
    assert places["Sink: Writer"] == "ConnectSwapped.main(ConnectSwapped.java:32)"
    assert places["Source: x"].startswith("lab.Src.longs(Src.java:")


def test_a_job_in_sql_has_its_statements_and_the_plan_of_its_nodes(jobs):
    job = jobs["q_agg_added", "new"]
    (insert,) = job.statements
    lines = (JAVA / "2.3.0" / "q_agg_added" / "new.sql").read_text().splitlines()
    assert lines[insert.line - 1].startswith("INSERT INTO")
    numbers = {int(one) for one in re.findall(r'"id" : (\d+)', job.exec_plan)}
    named = {int(node.name.partition("[")[2].rstrip("]")) for node in job.nodes}
    assert named <= numbers
    assert any("SUM(" in node.description for node in job.nodes)


@pytest.mark.parametrize("name", pairs("2.3.0"))
def test_a_restore_ends_as_on_a_cluster(restored, name):
    for backend in ("hashmap", "rocksdb"):
        real = records()["2.3.0", name]["attempts"].get(backend)
        if real is None or real["outcome"] == "refused":
            continue  # refused by ids alone
        failures = [
            one.failure.type
            for operator in restored[name]
            for one in operator.attempts
            if one.failure is not None and one.backend in (backend, "any")
        ]
        assert bool(failures) == (real["outcome"] in FAILED), (backend, failures, real["outcome"])
        if failures:
            assert real["exception"]["class"] in failures


def test_values_are_counted(restored):
    read = [
        (one.backend, one.name, one.read)
        for operator in restored["pojo_field_added"]
        for one in operator.rehearsal.states
    ]
    assert {("hashmap", "st", 3), ("rocksdb", "st", 3)} <= set(read)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pojo_field_added", "is new."),
        ("tuple_arity", "fields became"),
        ("win_evictor_added", "Long became StreamElement<Long>."),
    ],
)
def test_what_differs_is_said_in_words(restored, name, words):
    said = [
        sentence
        for operator in restored[name]
        for state in operator.states
        for part in state.parts
        if part.resolved != "as-is"
        for sentence in differences(part.old, part.new)
    ]
    assert any(words in sentence for sentence in said), said


@pytest.fixture(scope="module")
def from_jars(flink, java, jobs):
    """The restores of what the old programs would write when they are empty, by name."""
    names = pairs("2.3.0")
    asked = [(program("2.3.0", name, "new"), [Restore(metadata=jobs[name, "old"].savepoint)]) for name in names]
    outcomes = built(asked, flink, java, OPTIONS)
    return {name: outcome.restored[0].operators for name, outcome in zip(names, outcomes, strict=True)}


@pytest.mark.parametrize("name", pairs("2.3.0"))
def test_two_programs_say_what_a_restore_says(from_jars, name):
    real = records()["2.3.0", name]["attempts"]["hashmap"]["outcome"]
    assert bool(list(problems(from_jars[name]))) == (real in FAILED)


@pytest.mark.parametrize(
    ("name", "state", "reason"),
    [
        ("tuple_arity", "st", "2 fields became 3."),
        ("oplist_type", "buf", "Long became String."),
        ("q_agg_added", "accState", "Rows of (BIGINT) became rows of (BIGINT, BIGINT)."),
    ],
)
def test_a_problem_names_the_state_and_what_differs(from_jars, name, state, reason):
    (problem,) = problems(from_jars[name])
    (change,) = problem.changes
    assert (change.name, reason in change.reasons) == (state, True), change


def test_a_migration_names_the_field(from_jars):
    ((_, change),) = migrations(from_jars["pojo_field_added"])
    assert (change.name, change.fails) == ("st", False)
    assert change.reasons == ("The field extra of PojoFieldAdded$P is new.",)


def test_a_renamed_state_is_missing(restored):
    missing = {state.name for operator in restored["state_renamed"] for state in operator.states if state.missing}
    assert missing == {"st"}


def test_states_of_an_older_flink(flink, java):
    names = pairs("1.20.0-to-2.3.0")
    programs = [program("2.3.0", name, "new") for name in names]
    for name, operators in zip(
        names, restores(flink, java, programs, [savepoint("1.20.0", name) for name in names]), strict=True
    ):
        failed = any(one.failure for operator in operators for one in operator.attempts if one.backend == "hashmap")
        real = records()["1.20.0-to-2.3.0", name]["attempts"]["hashmap"]["outcome"]
        assert failed == (real in FAILED), name


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.17.2", "1.18.1", "1.19.2", "1.20.0", "2.0.0", "2.1.0"])
def test_other_versions_of_flink(java, version):
    any_version = JarProgram(path=str(PROGRAMS), main_class="AnyVersion")
    (outcome,) = built([(any_version, [])], flink_of(version), java, OPTIONS)
    assert outcome.crash is None, outcome.crash
    (job,) = outcome.jobs
    places = {node.uid: node.source and node.source.line for node in job.nodes}
    assert len(set(places.values()) - {None}) == 1
    (sums,) = (node for node in job.nodes if node.uid == "sums")
    assert [state.name for state in sums.states.states if state.scope == "keyed"] == ["_op_state"]
    assert compiled(job).hashes[sums.id] == sums.operator_id
    (outcome,) = built([(any_version, [Restore(metadata=job.savepoint)])], flink_of(version), java, OPTIONS)
    (again,) = outcome.restored
    (restored,) = (one for one in again.operators if one.node == sums.id)
    assert {one.backend for one in restored.attempts} == {"hashmap", "rocksdb"}
    assert [one.failure for one in restored.attempts] == [None, None]
