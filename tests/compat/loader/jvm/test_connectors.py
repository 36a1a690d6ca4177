"""The settings of connectors that Flink's own classes hold."""

import pytest

from compat.check.connectors import other_versions
from compat.check.findings import Verdict
from compat.comparison import Comparison, decide
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import SqlScript
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from compat.state.model.connectors import (
    DeliveryGuarantee,
    KafkaOffset,
    KafkaPartition,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    OtherSink,
    TransactionNaming,
    VersionedForm,
)
from tests import needs
from tests.compat.builders import operator
from tests.compat.loader.jvm.golden import program
from tests.compat.loader.jvm.support import build_all
from tests.needs import Need

_OF = "'connector'='kafka','properties.bootstrap.servers'='localhost:1','format'='csv'"
_TABLES = f"""
CREATE TABLE timed (k BIGINT) WITH ({_OF},'topic'='orders;returns','properties.group.id'='g',
  'scan.startup.mode'='timestamp','scan.startup.timestamp-millis'='1700000000000');
CREATE TABLE matched (k BIGINT) WITH ({_OF},'topic-pattern'='ord.*','properties.group.id'='g',
  'scan.startup.mode'='latest-offset');
CREATE TABLE ended (k BIGINT) WITH ({_OF},'topic'='orders','scan.startup.mode'='specific-offsets',
  'scan.startup.specific-offsets'='partition:0,offset:42','scan.bounded.mode'='latest-offset');
CREATE TABLE target (k BIGINT) WITH ({_OF},'topic'='out','sink.delivery-guarantee'='exactly-once',
  'sink.transactional-id-prefix'='tx');
CREATE TABLE pooled (k BIGINT) WITH ({_OF},'topic'='out','sink.delivery-guarantee'='exactly-once',
  'sink.transactional-id-prefix'='tx','sink.transaction-naming-strategy'='POOLING');
"""
_JOBS = "".join(f"INSERT INTO target SELECT * FROM {name};\n" for name in ("timed", "matched", "ended"))
_JOBS += "INSERT INTO pooled SELECT * FROM timed;\n"


@pytest.fixture(scope="module")
def connectors(flink, java):
    """The connectors of each statement's operators, without those of operators that have none."""
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
    options = JvmOptions(options={}, user_classpath=tuple(map(str, jars)))
    (outcome,) = build_all([SqlScript(path="kafka.sql", text=_TABLES + _JOBS)], flink, java, options)
    assert outcome.crash is None
    return [[node.connector for node in job.nodes if node.connector is not None] for job in outcome.jobs]


def test_a_source_of_topics(connectors):
    source, *_ = connectors[0]
    assert isinstance(source, KafkaSource)
    assert (source.topics, source.group_id, source.bounded, source.stopping) == (
        ("orders", "returns"),
        "g",
        False,
        None,
    )
    assert (source.starting.rule, source.starting.timestamp) == (OffsetRule.TIMESTAMP, 1_700_000_000_000)


def test_a_source_of_a_pattern(connectors):
    source, *_ = connectors[1]
    assert (source.topics, source.topic_pattern, source.starting.rule) == ((), "ord.*", OffsetRule.LATEST)


def test_a_source_that_ends(connectors):
    source, *_ = connectors[2]
    offset = KafkaOffset(partition=KafkaPartition(topic="orders", partition=0), offset=42)
    assert (source.starting.rule, source.starting.offsets) == (OffsetRule.OFFSETS, (offset,))
    assert (source.bounded, source.stopping.rule) == (True, OffsetRule.LATEST)


def test_a_sink_is_the_same_for_its_writer_and_its_committer(connectors):
    _, *sinks = connectors[0]
    target = KafkaSink(
        guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix="tx",
        naming=TransactionNaming.INCREMENTING,
    )
    assert sinks == [target] * 2


def test_a_sink_tells_how_it_names_transactions(connectors):
    _, *sinks = connectors[3]
    assert [sink.naming for sink in sinks] == [TransactionNaming.POOLING] * 2


@pytest.fixture(scope="module")
def versions(flink, java):
    """The plans of a job whose sink's serializer got another version, old and new."""
    programs = [program("2.3.0", "sink_writer_version", side) for side in ("old", "new")]
    return [plan_of(one.jobs[0], "a.jar") for one in build_all(programs, flink, java, JvmOptions(options={}))]


def test_two_plans_do_not_tell_whether_a_version_of_a_connector_reads_another(versions):
    old, new = versions
    report = decide(old, new, Comparison("old", "new"), {})
    assert report.verdict is Verdict.UNKNOWN
    (finding,) = (one for one in report.findings if one.rule == "CMP410")
    assert finding.reason == "SinkWriterVersion$Ser1 wrote version 1 and is of version 2."
    assert decide(old, old, Comparison("old", "new"), {}).verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((1, "a"), (1, "a"), None),
        ((1, "a"), (2, "a"), "wrote version 1 and is of version 2"),
        ((1, "a"), (1, "b"), "The code of Ser is another one"),
    ],
)
def test_a_form_is_its_version_and_its_code(before, after, words):
    sides = [
        operator(
            "Sink: Writer",
            connector=OtherSink(
                class_name="a.Sink",
                writer_serializer="a.Ser",
                forms=(VersionedForm(class_name="a.Ser", version=version, digest=digest),),
            ),
        )
        for version, digest in (before, after)
    ]
    said = other_versions(*sides)
    assert (words is None and said == ()) or words in said[0]
