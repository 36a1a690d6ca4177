"""What a log tells of restores: whatever carried it, whatever else is in it."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from compat.diagnosis.catalogue import ENTRIES
from compat.diagnosis.diagnosing import Diagnosis, diagnose
from compat.diagnosis.entry import Proof
from compat.diagnosis.lines import LONGEST, lines_of

ID = "90bea66de1c231edf33913ecd54406c1"
RESTORING = (
    "org.apache.flink.runtime.state.BackendBuildingException: Failed when trying to restore heap backend\nCaused by: "
)
GONE = next(entry.example for entry in ENTRIES if entry.name == "operator-not-available")
LOG = f"""\
2026-05-01 10:00:00,100 INFO  o.a.f.r.c.CheckpointCoordinator [] - Starting job 0a from savepoint s3://b/savepoint-1 ()
2026-05-01 10:00:02,123 INFO  o.a.f.r.e.ExecutionGraph [] - Count -> Sink: out (1/2) (9f2f_{ID}_0_0) switched from INITIALIZING to FAILED
java.lang.Exception: Exception while creating StreamOperatorStateContext.
\tat org.apache.flink.streaming.api.operators.StreamTaskStateInitializerImpl.streamOperatorStateContext(X.java:1) ~[f.jar:2.3.0]
\tSuppressed: java.lang.IllegalStateException: There is no operator for the state {ID}
\t\tat org.apache.flink.runtime.checkpoint.A.b(A.java:1)
Caused by: org.apache.flink.util.FlinkException: Could not restore keyed state backend for KeyedProcessOperator_{ID}_(1/2) from any of the 1 provided restore options.
\tat org.apache.flink.streaming.api.operators.BackendRestorerProcedure.createAndRestore(B.java:160) ~[f.jar:2.3.0]
\t... 12 more
Caused by: org.apache.flink.runtime.state.BackendBuildingException: Failed when trying to restore heap backend
\t... 14 more
Caused by: org.apache.flink.util.StateMigrationException: The new key serializer (org.apache.flink.api.common.typeutils.base.StringSerializer@1a) must be compatible with the previous key serializer (org.apache.flink.api.common.typeutils.base.LongSerializer@2b).
\tat org.apache.flink.runtime.state.heap.HeapRestoreOperation.createOrCheckStateBackend(H.java:80) ~[f.jar:2.3.0]
\t... 16 more
2026-05-01 10:00:03,000 INFO  o.a.f.r.e.ExecutionGraph [] - Restarting
"""  # noqa: E501


def of(log: str | bytes) -> Diagnosis:
    data = log.encode() if isinstance(log, str) else log
    return diagnose(lines_of(io.BufferedReader(io.BytesIO(data))))


def the_key_of_count(found: Diagnosis) -> None:
    """The failure in ``LOG``, with all that the log tells of it."""
    (failure,) = found.failures
    assert failure.entry.name == "key-serializer-incompatible"
    assert (failure.values["old"], failure.values["new"]) == ("LongSerializer", "StringSerializer")
    assert failure.operator == ID


def prefixed(prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in LOG.splitlines())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_entry_recognises_what_flink_throws(entry):
    around = RESTORING if entry.proof is Proof.RESTORE and "state_impl" not in entry.example else ""
    (failure,) = of(around + entry.example).failures
    assert failure.entry is entry


@pytest.mark.parametrize(
    "log",
    [
        LOG,
        LOG.replace("\n", "\r\n"),
        prefixed("2026-05-01T10:00:02.123456789Z "),
        prefixed("2026-05-01T10:00:02.123456789+02:00 stdout F "),
        prefixed("[pod/orders-1/flink-main-container] "),
        prefixed("[pod/orders-1/flink-main-container] 2026-05-01T10:00:02.123456789Z "),
        prefixed("jobmanager-1  | "),
        "".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in LOG.splitlines()),
        LOG.encode("utf-16"),
        gzip.compress(LOG.encode()),
        LOG.encode() + b"\xff\xfe\x00 not UTF-8\n",
    ],
    ids=[
        "log4j",
        "windows",
        "timestamps",
        "CRI",
        "pods",
        "pods and timestamps",
        "compose",
        "docker",
        "utf-16",
        "gzip",
        "bytes",
    ],
)
def test_a_log_is_read_whatever_carried_it(log):
    found = of(log)
    the_key_of_count(found)
    (failure,) = found.failures
    assert failure.savepoint == "s3://b/savepoint-1"
    assert failure.task == "Count -> Sink: out"
    assert failure.first.startswith("2026-05-01")


TRACE = "\n".join(LOG.splitlines()[2:-1])
CAUSE = {
    "name": "org.apache.flink.util.StateMigrationException",
    "message": TRACE.rpartition("StateMigrationException: ")[2].partition("\n")[0],
}


@pytest.mark.parametrize(
    "event",
    [
        {
            "@timestamp": "2026-05-01T10:00:02Z",
            "message": "failed",
            "error.type": "java.lang.Exception",
            "error.stack_trace": TRACE,
        },
        {"message": "failed", "exception": {"exception_class": "java.lang.Exception", "stacktrace": TRACE}},
        {"message": f"failed\n{TRACE}"},
        {"root-exception": TRACE, "truncated": False},
        {
            "message": "failed",
            "thrown": {"name": "java.lang.Exception", "message": "Exception while …", "extendedStackTrace": TRACE},
        },
    ],
    ids=["ECS", "logstash", "message", "REST", "JsonLayout"],
)
def test_events_in_json(event):
    the_key_of_count(of(json.dumps(event)))


def test_exceptions_in_json_that_are_objects():
    frames = [{"class": "org.apache.flink.runtime.state.heap.H", "method": "restore", "file": "H.java", "line": 1}]
    thrown = {
        "name": "java.lang.Exception",
        "message": "x",
        "extendedStackTrace": frames,
        "cause": {**CAUSE, "extendedStackTrace": frames},
    }
    (failure,) = of(json.dumps({"message": "switched", "thrown": thrown})).failures
    assert failure.entry.name == "key-serializer-incompatible"


def test_json_that_was_printed_over_several_lines():
    the_key_of_count(of(json.dumps({"root-exception": TRACE, "timestamp": 1}, indent=2)))


def test_the_lines_of_two_pods_may_be_mixed():
    other = [f"[pod/b/flink] 2026-05-01 10:00:02,1 INFO x [] - line {number}" for number in range(100)]
    lines = prefixed("[pod/a/flink] ").splitlines()
    mixed = [line for pair in zip(lines, other, strict=False) for line in pair]
    the_key_of_count(of("\n".join(mixed)))


def test_repetitions_are_counted_once():
    again = LOG.replace("10:00:0", "10:07:0").replace("@1a", "@77").replace("(1/2)", "(2/2)")
    (failure,) = of(LOG + again + again).failures
    assert failure.count == 3
    assert (failure.first, failure.last) == ("2026-05-01 10:00:02", "2026-05-01 10:07:02")


def test_failures_of_two_operators_are_two():
    assert len(of(LOG + LOG.replace(ID, "b71731f1c0df9c3076c4a455334d0ad6")).failures) == 2


def test_the_line_of_the_program_that_asks_for_the_state_is_told():
    log = (
        "java.lang.RuntimeException: Error while getting state\n"
        "\tat org.apache.flink.runtime.state.DefaultKeyedStateStore.getState(D.java:73)\n"
        "\tat shop.Count.open(Count.java:42)\n"
        "Caused by: java.lang.IllegalStateException: Incompatible key/value state types. Was [LIST], registered with [VALUE].\n"
        "\t... 9 more\n"
    )
    assert of(log).failures[0].asked_at == "shop.Count.open(Count.java:42)"


@pytest.mark.parametrize(
    ("pasted", "name"),
    [
        ("The new key serializer (A@1) must be\ncompatible with the previous one (B@2).", "key-serializer-incompatible"),
        (f"Cannot map checkpoint/savepoint state\n{GONE}", "operator-not-available"),
        (GONE.removeprefix("java.lang.IllegalStateException: "), "operator-not-available"),
        ("Caused by: java.lang.IllegalStateException: " + GONE[33:200], "operator-not-available"),
        ("2026-05-01 WARN [] - job failed: java.util.concurrent.CompletionException: " + GONE, "operator-not-available"),
        (": " + GONE, "operator-not-available"),
        ("pemja.core.PythonException: <class 'RuntimeError'>: org.apache.flink.util.StateMigrationException: The new state "
         "serializer (A@1) must not be incompatible with the old state serializer (B@2).", "state-serializer-incompatible"),
    ],
)  # fmt: skip
def test_a_text_that_somebody_pasted(pasted, name):
    assert [failure.entry.name for failure in of(pasted).failures] == [name]


USER = "\tat shop.Parse.flatMap(Parse.java:7)\n\tat org.apache.flink.streaming.runtime.tasks.StreamTask.run(S.java:1)\n"
KRYO = "com.esotericsoftware.kryo.KryoException: Buffer underflow.\n"
STATE = "\tat org.apache.flink.contrib.streaming.state.RocksDBValueState.value(R.java:1)\n"


@pytest.mark.parametrize(
    "log",
    [
        "java.lang.NullPointerException: null\n" + USER,
        "java.io.FileNotFoundException: /data/input.csv (No such file or directory)\n" + USER,
        "java.lang.ClassNotFoundException: shop.Order\n\tat java.base/java.net.URLClassLoader.findClass(U.java:1)\n",
        "java.io.EOFException\n" + USER,
        KRYO + "\tat com.esotericsoftware.kryo.io.Input.require(Input.java:1)\n" + USER,
        "java.io.InvalidClassException: shop.Order; local class incompatible: stream classdesc serialVersionUID = 1, local "
        "class serialVersionUID = 2\n\tat java.base/java.io.ObjectStreamClass.initNonProxy(O.java:1)\n"
        "\tat org.apache.flink.util.InstantiationUtil.readObjectFromConfig(I.java:1)\n",
        "java.lang.IllegalArgumentException: Can not set int field shop.Order.n to java.lang.Long\n" + USER,
        "org.apache.flink.runtime.checkpoint.CheckpointException: Checkpoint expired before completing.\n",
        "java.io.IOException: Unknown version: 3\n" + USER,
        RESTORING + "java.io.IOException: Could not load the native RocksDB library\n",
        RESTORING + "java.lang.OutOfMemoryError: Java heap space\n",
        "FlinkException: Could not restore keyed state backend for A_" + ID + "_(1/1) from any of the 1 provided restore "
        "options.\nCaused by: org.apache.flink.runtime.execution.CancelTaskException\n",
        "java.lang.RuntimeException: Error received from SDK harness for instruction 3: Traceback (most recent call last):\n"
        '  File "/opt/pyflink/fn_execution/state_impl.py", line 168, in add\n'
        '  File "/opt/job.py", line 3, in reduce\nValueError: invalid literal for int()\n\tat org.apache.beam.A.b(A.java:1)\n',
        "",
    ],
)  # fmt: skip
def test_an_exception_of_the_program_is_no_failure_of_a_restore(log):
    found = of(log)
    assert found.failures == ()
    assert found.others == bool(log)


def test_a_stack_trace_tells_values_of_a_state_from_others():
    library = "\tat com.esotericsoftware.kryo.io.Input.require(Input.java:1)\n"
    assert of(KRYO + library + STATE + USER).failures
    assert not of(KRYO + library + USER + STATE).failures, "the program reads by itself, called by the state"
    serializer = "\tat shop.OrderSerializer.deserialize(OrderSerializer.java:9)\n"
    assert of("java.io.IOException: version 1\n" + serializer + STATE + USER).failures


def test_python_tells_where_it_read():
    inner = '  File "/opt/pyflink/fn_execution/state_impl.py", line 168, in value\n'
    log = (
        "Caused by: RuntimeException: Error received from SDK harness for instruction 3: Traceback (most recent call last):\n"
        '  File "/lib/python3.11/site-packages/apache_beam/runners/worker/sdk_worker.py", line 311, in _execute\n'
        '  File "/opt/job.py", line 20, in process_element\n    count = self.count.value()\n' + inner +
        "AttributeError: Can't get attribute 'Order' on <module '__main__' from 'job.py'>\n\n"
        "\tat org.apache.beam.runners.fnexecution.control.FnApiControlClient.x(F.java:1)\n"
    )  # fmt: skip
    (failure,) = of(log).failures
    assert failure.entry.name == "pickled-class-gone"
    assert failure.values["class_name"] == "Order"


def test_the_innermost_cause_in_the_catalogue_tells():
    log = (
        RESTORING
        + "java.io.IOException: Could not find class 'shop.Order' in classpath.\n"
        + "Caused by: java.lang.ClassNotFoundException: shop.Order"
    )
    (failure,) = of(log).failures
    assert failure.entry.name == "class-not-found", "what any program throws says less than Flink"
    nested = "FlinkRuntimeException: Failed to deserialize value\nCaused by: java.io.IOException: Unknown version: 1"
    assert of(nested).failures[0].entry.name == "connector-reads-no-such-version"


def test_a_log_may_be_longer_than_memory_and_hostile():
    """Lines without end, exceptions without end, and endless different failures are cut."""
    assert of("x" * (3 * LONGEST) + "\n" + LOG).failures
    assert of("java.lang.Error: x\n" + "Caused by: java.lang.Error: y\n" * 5000).others == 1
    many = of("\n".join(GONE.replace("1a2b3c", str(number)) + "\n2026-05-01 x" for number in range(1000)))
    assert len(many.failures) + many.left_out == 1000
    assert len(many.failures) <= 200
    deep = "{" + '"a":{' * 3000 + "}" * 3001
    assert of(deep + "\n" + LOG).failures
    assert of('{"a":' * 200_000).failures == ()


def test_reading_is_linear_in_what_is_read():
    """A line, a message or a stack trace that is ten times as long is looked at about ten times as long."""
    import time

    def seconds(text: str) -> float:
        started = time.process_time()
        of(text)
        return time.process_time() - started

    for piece in (
        "The new state serializer (",
        "a.",
        "Starting job x from savepoint ",
        "(1/2) (",
        " new key serializer (",
    ):
        short, long = (seconds("java.lang.Error: " + piece * (size // len(piece)) + "\n") for size in (20_000, 200_000))
        assert long < 40 * max(short, 0.005), piece


COPIED = """\
java.lang.RuntimeException: Error while getting state
at org.apache.flink.runtime.state.DefaultKeyedStateStore.getMapState(DefaultKeyedStateStore.java:109)
at shop.Count.open(Count.java:63)
Caused by: org.apache.flink.util.StateMigrationException: The new key serializer must be compatible.
at org.apache.flink.runtime.state.heap.HeapRestoreOperation.restore(HeapRestoreOperation.java:130)
... 15 more
"""


def test_a_trace_that_was_copied_from_a_page_has_no_spaces_in_front() -> None:
    (failure,) = of(COPIED).failures
    assert (failure.entry.name, failure.asked_at) == ("key-serializer-incompatible", "shop.Count.open(Count.java:63)")
