"""The names of states that Flink's own operators and connectors keep: each stands in the class that keeps it."""

import zipfile
from functools import cache

import pytest

from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch
from compat.state import names
from tests import needs
from tests.compat.loader.jvm.support import flink_of
from tests.needs import Need

BOTH, FIRST = ("1.20.0", "2.3.0"), ("1.20.0",)
KEEPERS = {
    names.SOURCE_READER: ("SourceOperator", BOTH),
    names.SINK_WRITER: ("StatefulSinkWriterStateHandler", BOTH),
    names.SINK_COMMITTER: ("CommitterOperator", BOTH),
    names.ASYNC_WAIT: ("AsyncWaitOperator", BOTH),
    names.REDUCE: ("StreamGroupedReduceOperator", BOTH),
    names.WINDOW_CONTENTS: ("WindowOperatorBuilder", BOTH),
    names.MERGING_WINDOWS: ("WindowOperator", BOTH),
    names.TUMBLING_COUNT: ("CountTumblingWindowAssigner", BOTH),
    names.SLIDING_COUNT: ("CountSlidingWindowAssigner", BOTH),
    names.FILE_MONITOR: ("ContinuousFileMonitoringFunction", BOTH),
    names.FILE_SPLITS: ("ContinuousFileReaderOperator", BOTH),
    "LEFT_BUFFER": ("IntervalJoinOperator", BOTH),
    "RIGHT_BUFFER": ("IntervalJoinOperator", BOTH),
    "_default_": ("DefaultOperatorStateBackend", BOTH),
    "bucket-states": ("StreamingFileSinkHelper", BOTH),
    "max-part-counter": ("StreamingFileSinkHelper", BOTH),
    "remaining_requests_raw_state": ("CompactorOperator", BOTH),
    "remaining_compact_commit_raw_state": ("CompactCoordinator", BOTH),
    "from-elements-state": ("FromElementsFunction", BOTH),
    "message-acknowledging-source-state": ("MessageAcknowledgingSourceBase", FIRST),
    "pending-checkpoints": ("GenericWriteAheadSink", BOTH),
    "state": ("TwoPhaseCommitSinkFunction", BOTH),
    "stateful-sequence-source-state": ("StatefulSequenceSource", BOTH),
    "count": ("CountTrigger", BOTH),
    "fire-time": ("ContinuousEventTimeTrigger", BOTH),
}
"""By name, the class that keeps a state of that name, and the versions of Flink that have it."""

KAFKA = {
    "next-transactional-id-hint": "FlinkKafkaProducer",
    "next-transactional-id-hint-v2": "FlinkKafkaProducer",
    "topic-partition-offset-states": "FlinkKafkaConsumerBase",
}
"""Those of the connector for Kafka before its 4.0, which left these classes out."""

OF_A_PATCH = {names.END_OF_INPUT: "SinkWriterOperator"}
"""Those that came with 1.20.1, and went with 2.0."""


@cache
def classes(jars):
    """The bytes of the classes of the tables in these jars, by their simple names."""
    wanted = {name for name, _ in KEEPERS.values()} | set(KAFKA.values()) | set(OF_A_PATCH.values())
    found = {}
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                name = entry.rpartition("/")[2].removesuffix(".class")
                if entry.endswith(".class") and name in wanted:
                    found.setdefault(name, []).append(archive.read(entry))
    return found


def holds(code, text):
    """Whether a class file has the text among its constants."""
    written = text.encode()
    return b"\1" + len(written).to_bytes(2, "big") + written in code


def test_every_name_has_its_class():
    known = KEEPERS.keys() | KAFKA.keys() | OF_A_PATCH.keys()
    assert known == names.OF_OPERATORS | names.OF_CONNECTORS | names.OF_TRIGGERS


@pytest.mark.parametrize("version", BOTH)
def test_flink_keeps_states_of_these_names(version, java):
    found = classes(flink_of(version).jars)
    missing = [
        f"{state} in {keeper}"
        for state, (keeper, versions) in KEEPERS.items()
        if version in versions and not any(holds(code, state) for code in found.get(keeper, ()))
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("name", "version"), [("flink-connector-kafka", "3.4.0-1.20"), ("flink-streaming-java", "1.20.1")]
)
def test_artifacts_beside_these_keep_states_of_these_names(name, version, java):
    kept = KAFKA if name.endswith("kafka") else OF_A_PATCH
    try:
        found = classes(fetch(f"{name}-{version}", [Artifact(group="org.apache.flink", name=name, version=version)]))
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    assert all(any(holds(code, state) for code in found[keeper]) for state, keeper in kept.items())
