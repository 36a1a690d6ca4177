"""Jobs whose outside world is not there: the states of their operators are known as if it were."""

import pytest
from msgspec.structs import replace

from compat.check.findings import Verdict
from compat.comparison import Comparison, decide
from compat.loader.jvm.answers import answers_of
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import JarProgram, Restore, SqlScript
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from tests import needs
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import build, built, flink_of
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

JAR = str(JAVA / "unconnected" / "unconnected.jar")
NOWHERE = "broker.invalid:9092"
CLOSED = "localhost:9"
TOLD = ("Counting", "Later", "Instead", "Besides", "Buffering", "InWindows", "Ruled", "Writing")
"""The operators whose states can be read from code."""


def unconnected(answer):
    """The program with a system that is up, down or silent."""
    return JarProgram(path=JAR, main_class="shop.Unconnected", arguments=(answer,))


def piped(*arguments):
    return JarProgram(path=JAR, main_class="shop.Piped", arguments=arguments)


@pytest.fixture(scope="module")
def nodes(flink, java):
    """The operators by uid, for each way in which the system answers, and without any open()."""

    def by_uid(answer, **options):
        outcome = build(unconnected(answer), flink, java, JvmOptions(options={}, **options))
        assert outcome.crash is None
        return {node.uid: node for node in outcome.jobs[0].nodes}

    return {
        "up": by_uid("up"),
        "down": by_uid("down"),
        "silent": by_uid("silent", open_timeout=1.0),
        "not opened": by_uid("silent", call_open=False),
    }


def states(node):
    """The states of an operator, without what only a look into its open function shows."""
    return {
        (one.scope, one.name, one.kind, *(part.written for part in one.serializers.values()))
        for one in node.states.states
    }


@pytest.mark.parametrize("answer", ["down", "silent", "not opened"])
@pytest.mark.parametrize("uid", TOLD)
def test_states_are_those_that_flink_has_where_all_connects(nodes, uid, answer):
    node = nodes[answer][uid]
    assert (node.states.unknown, node.states.more) == ("", None)
    assert states(node) == states(nodes["up"][uid])
    assert states(node)
    assert node.states.key_serializer == nodes["up"][uid].states.key_serializer


def test_a_state_whose_name_comes_from_outside_is_not_known(nodes):
    assert (
        nodes["down"]["Named"].states.more.why
        == "Unconnected.Named asks for state in open() (IOException: the system is down)"
    )
    assert {one.name for one in nodes["up"]["Named"].states.states} == {"told-by-the-system"}


def test_a_state_that_is_asked_for_on_a_condition_is_not_known(nodes):
    assert nodes["not opened"]["Either"].states.more.why == (
        "Unconnected.Either asks for state conditionally in open() (open() is not called, as --no-open asks)"
    )
    assert {one.name for one in nodes["up"]["Either"].states.states} == {"long"}


def test_what_a_function_within_a_function_asks_for_is_not_known(nodes):
    told = nodes["down"]["Nesting"].states.more.why
    assert told == "Unconnected.Nesting opens another function in open() (IOException: the system is down)"
    assert {one.name for one in nodes["up"]["Nesting"].states.states} == {"of-base"}


def test_timers_that_an_operator_of_the_program_asks_for_are_not_known(nodes):
    assert nodes["down"]["Timed"].states.more.why.startswith("Unconnected.Timed asks for timers (IOException")
    assert any(one.scope == "timer" for one in nodes["up"]["Timed"].states.states)


def test_what_waits_is_named_where_the_code_does_not_tell(nodes):
    assert "open() did not end within 1 seconds, it was at shop.Unconnected" in nodes["silent"]["Named"].states.more.why


def test_state_that_was_written_while_all_connected_is_restored(flink, java):
    options = JvmOptions(options={})
    (old,) = built([(unconnected("up"), [])], flink, java, options)
    restore = Restore(folder=".", metadata=old.jobs[0].savepoint)
    (new,) = built([(unconnected("down"), [restore])], flink, java, options)
    found = answers_of(new.restored[0], {node.id: node for node in new.jobs[0].nodes})
    before, after = plan_of(old.jobs[0], "a.jar"), plan_of(new.jobs[0], "a.jar")
    report = decide(before, after, Comparison("old", "new"), {}, found)
    lost = {one.old.uid for one in report.findings if one.level.rank <= 1}
    assert lost == {"Named", "Either", "Nesting", "Timed"}, report.findings
    assert report.verdict is Verdict.UNKNOWN


@pytest.fixture(scope="module")
def kafka():
    """The options of a job with Kafka's connector on its class path."""
    try:
        jars = [
            *fetch(
                "kafka-4.0.1-2.0",
                [Artifact(group="org.apache.flink", name="flink-connector-kafka", version="4.0.1-2.0")],
            ),
            *fetch(
                "flink-connector-base-2.3.0",
                [Artifact(group="org.apache.flink", name="flink-connector-base", version="2.3.0")],
            ),
        ]
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    return JvmOptions(options={}, user_classpath=tuple(map(str, jars)))


@pytest.mark.parametrize("broker", [NOWHERE, CLOSED])
@pytest.mark.parametrize("guarantee", ["at-least", "once"])
def test_kafka_needs_no_broker(flink, java, kafka, broker, guarantee):
    outcome = build(piped(broker, guarantee), flink, java, kafka)
    assert outcome.crash is None
    found = {node.name: node.states for node in outcome.jobs[0].nodes}
    assert {name: (told.unknown, told.more) for name, told in found.items()} == dict.fromkeys(found, ("", None))
    assert {name: [one.name for one in told.states] for name, told in found.items()} == {
        "Source: orders": ["SourceReaderState"],
        "shipped: Writer" if "shipped: Writer" in found else "Sink: Writer": ["writer_raw_states"],
        "shipped: Committer" if "shipped: Committer" in found else "Sink: Committer": [
            "streaming_committer_raw_states"
        ],
    }


@pytest.mark.parametrize("guarantee", ["at-least", "once"])
def test_another_operator_beside_kafka_is_judged(flink, java, kafka, guarantee):
    """Each way round: what is new starts empty, what goes is lost; and the sink is no matter."""
    few, many = piped(NOWHERE, guarantee), piped(NOWHERE, guarantee, "more")
    olds = built([(few, []), (many, [])], flink, java, kafka)
    asked = [
        (new, [Restore(folder=".", metadata=old.jobs[0].savepoint)]) for new, old in zip((many, few), olds, strict=True)
    ]
    reports = []
    for old, new in zip(olds, built(asked, flink, java, kafka), strict=True):
        found = answers_of(new.restored[0], {node.id: node for node in new.jobs[0].nodes})
        reports.append(
            decide(plan_of(old.jobs[0], "a"), plan_of(new.jobs[0], "b"), Comparison("old", "new"), {}, found)
        )
    assert [one.verdict for one in reports] == [Verdict.COMPATIBLE, Verdict.INCOMPATIBLE]
    assert {one.old.uid for one in reports[1].findings if one.level.rank == 0} == {"last"}


_JDBC = """
CREATE TABLE orders (id BIGINT, price DOUBLE) WITH ('connector' = 'datagen');
CREATE TABLE totals (id BIGINT, total DOUBLE, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc',
  'url' = 'jdbc:postgresql://db.invalid:5432/shop', 'table-name' = 'totals', 'username' = 'a', 'password' = 'b');
INSERT INTO totals SELECT id, SUM(price) FROM orders GROUP BY id;
"""


def test_a_sink_that_opens_a_connection_needs_no_database(java):
    """JDBC's sink is a function, whose open() connects; the connector's own code tells that it asks for no state."""
    version = "1.20.0"
    flink = flink_of(version)
    wanted = [
        Artifact(group="org.apache.flink", name="flink-connector-jdbc", version="3.3.0-1.20"),
        Artifact(group="org.postgresql", name="postgresql", version="42.7.3"),
    ]
    try:
        jars = fetch("jdbc-3.3.0-1.20", wanted)
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    flink = replace(flink, jars=(*flink.jars, *jars))
    (job,) = build(SqlScript(path="totals.sql", text=_JDBC), flink, java, JvmOptions(options={})).jobs
    sink = next(node for node in job.nodes if node.name.startswith("Sink"))
    assert (sink.states.unknown, sink.states.more, sink.states.states) == ("", None, ())
    assert {node.states.unknown for node in job.nodes} == {""}
