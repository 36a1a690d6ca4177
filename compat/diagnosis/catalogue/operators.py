"""Exceptions of the JobManager: state whose operator is gone, other parallelism, another topology."""

from __future__ import annotations

import re

from compat.diagnosis.entry import Entry

ENTRIES = (
    Entry(
        name="max-parallelism-mismatch",
        title="Max parallelism mismatch between checkpoint/savepoint state and new program",
        pattern=re.compile(
            r"Max parallelism mismatch between checkpoint/savepoint state and new program(?:\. Cannot map operator "
            r"(?P<operator>[0-9a-f]{32}) with max parallelism (?P<old>\d+) to new program with max parallelism "
            r"(?P<new>\d+))?"
        ),
        happened="The max parallelism of the state is {old}, and that of the new program is {new}. Flink started "
        "nothing.",
        rules=("CMP301", "CMP303"),
        now="Set the max parallelism of the operator, or of the job, as it was ({old}): with state it can never "
        "change.",
        example="java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint Checkpoint Metadata. Max "
        "parallelism mismatch between checkpoint/savepoint state and new program. Cannot map operator "
        "90bea66de1c231edf33913ecd54406c1 with max parallelism 128 to new program with max parallelism 64. This "
        "indicates that "
        "the program has been changed in a non-compatible way after the checkpoint/savepoint.",
    ),
    Entry(
        name="operator-not-available",
        title="Cannot map checkpoint/savepoint state for operator … to the new program, because the operator is not "
        "available in the new program",
        pattern=re.compile(
            r"Failed to rollback to checkpoint/savepoint (?P<savepoint>.+?)\.?(?:"
            r" Cannot map checkpoint/savepoint state for operator (?P<operator>[0-9a-f]{32})\b| Cannot map|$)"
        ),
        happened="The new program has no operator with the id of state in the savepoint. Flink started nothing.",
        rules=("CMP101", "CMP102"),
        now="It prints the uid or the set_uid_hash line that gives the operator its old id back. "
        "--allowNonRestoredState "
        "starts the job and drops this state for good.",
        example="java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint "
        "file:/savepoints/savepoint-1a2b3c. "
        "Cannot map checkpoint/savepoint state for operator 90bea66de1c231edf33913ecd54406c1 to the new program, "
        "because the "
        "operator is not available in the new program. If you want to allow to skip this, you can set the "
        "--allowNonRestoredState option on the CLI.",
    ),
    Entry(
        name="no-operator-for-state",
        title="There is no operator for the state …",
        pattern=re.compile(r"There is no operator for the state (?P<operator>[0-9a-f]{32})"),
        happened="The new program has no operator with the id of state in the checkpoint.",
        rules=("CMP101", "CMP102"),
        now="It prints the uid or the set_uid_hash line that gives the operator its old id back.",
        example="java.lang.IllegalStateException: There is no operator for the state 90bea66de1c231edf33913ecd54406c1",
    ),
    Entry(
        name="max-parallelism-changed",
        title="The maximum parallelism (…) with which the latest checkpoint of the execution job vertex … has been "
        "taken and "
        "the current maximum parallelism (…) changed",
        pattern=re.compile(
            r"The maximum parallelism \((?P<old>\d+)\) with which the latest checkpoint of the execution job vertex "
            r"(?P<task>.+?) has been taken and the current maximum parallelism \((?P<new>\d+)\) changed"
        ),
        happened="The max parallelism of the state is {old}, and that of the new program is {new}.",
        rules=("CMP301", "CMP303"),
        now="Set the max parallelism of the operator, or of the job, as it was ({old}): with state it can never "
        "change.",
        example="java.lang.IllegalStateException: The maximum parallelism (128) with which the latest checkpoint of "
        "the "
        "execution job vertex count -> Sink: out has been taken and the current maximum parallelism (64) changed. "
        "This is "
        "currently not supported.",
    ),
    Entry(
        name="parallelism-above-max",
        title="The maximum parallelism (…) of the restored state is lower than the configured parallelism (…)",
        pattern=re.compile(
            r"The state for task (?P<task>.+?) can not be restored\. The maximum parallelism \((?P<old>\d+)\) of "
            r"the restored "
            r"state is lower than the configured parallelism \((?P<new>\d+)\)"
        ),
        happened="The max parallelism of the state is {old}, and the new program runs {new} subtasks.",
        rules=("CMP302",),
        now="Start the job with a parallelism of at most {old}.",
        example="java.lang.IllegalStateException: The state for task count can not be restored. The maximum "
        "parallelism (4) of "
        "the restored state is lower than the configured parallelism (8). Please reduce the parallelism of the task "
        "to be lower "
        "or equal to the maximum parallelism.",
    ),
    Entry(
        name="unaligned-topology",
        title="Cannot recover from unaligned checkpoint when topology changes, such that data exchanges with "
        "persisted data are "
        "now chained",
        pattern=re.compile(r"Cannot recover from unaligned checkpoint when topology changes"),
        happened="The checkpoint holds records on their way between two operators that the new program runs in one "
        "task.",
        rules=("CMP205", "CMP201"),
        now="Restore the old program, take a savepoint of it, and start the new program from that: a savepoint "
        "holds no such "
        "records.",
        example="java.lang.IllegalStateException: Cannot recover from unaligned checkpoint when topology changes, "
        "such that data "
        "exchanges with persisted data are now chained.",
    ),
    Entry(
        name="mixed-finished-operators",
        title="Can not restore vertex … which contain mixed operator finished state",
        pattern=re.compile(
            r"Can not restore vertex (?P<task>.+?)\((?P<vertex>[0-9a-f]{32})\) which contain mixed operator "
            r"finished state"
        ),
        happened="The new program chains an operator that had ended when the snapshot was taken with one that had not.",
        rules=("CMP204",),
        now="Keep what is chained with an ended source as it was, or take the snapshot before a source ends.",
        example="org.apache.flink.util.FlinkRuntimeException: Can not restore vertex Source: third -> "
        "Map(8474aa9b0a4d22366914b243c3f0596b) which contain mixed operator finished state: [ALL_RUNNING, "
        "FULLY_FINISHED]",
    ),
    Entry(
        name="finished-before-running",
        title="Illegal JobGraph modification. Cannot run a program with fully finished vertices predeceased with "
        "the ones not "
        "fully finished",
        pattern=re.compile(
            r"Illegal JobGraph modification\. Cannot run a program with fully finished vertices.*?"
            r"Task vertex (?P<task>.+?)\((?P<vertex>[0-9a-f]{32})\) has a predecessor not fully finished"
        ),
        happened="An operator that had ended when the snapshot was taken now reads from one that had not.",
        rules=("CMP204",),
        now="Give the operator that reads from the new one a uid of its own: it then starts without the state of "
        "the ended one.",
        example="org.apache.flink.util.FlinkRuntimeException: Illegal JobGraph modification. Cannot run a program "
        "with fully "
        "finished vertices predeceased with the ones not fully finished. Task vertex "
        "Map(8474aa9b0a4d22366914b243c3f0596b) has a predecessor not fully finished",
    ),
    Entry(
        name="key-group-of-another-subtask",
        title="Key group … is not in KeyGroupRange",
        pattern=re.compile(
            r"Key group (?P<group>\d+) is not in (?:KeyGroupRange)?\{?.*low level state access|"
            r"[Kk]ey group from \d+ to \d+ does not contain (?P<group_of_timer>\d+)|"
            r"KeyGroupRange\{startKeyGroup=\d+, endKeyGroup=\d+\} does not contain key group \d+"
        ),
        happened="A key was hashed to another subtask than the one that keeps its state: its hashCode is not the "
        "one it was. A key "
        "whose hashCode differs from JVM to JVM, as of an enum or an array, fails so without a restore, too.",
        rules=("CMP416", "CMP406"),
        now="Give the key's class the old hashCode and equals back, or key by a String or a number.",
        example="java.lang.IllegalArgumentException: Key group 64 is not in KeyGroupRange{startKeyGroup=0, "
        "endKeyGroup=63}. Unless "
        "you're directly using low level state access APIs, this is most likely caused by non-deterministic shuffle "
        "key (hashCode "
        "and equals implementation).",
        versions="Before 1.16 without the second sentence.",
    ),
    Entry(
        name="nothing-to-restore",
        title="No completed checkpoint available",
        pattern=re.compile(r"IllegalStateException: No completed checkpoint available"),
        happened="Flink was told to restore, and found no checkpoint to restore from.",
        rules=("CMP501",),
        now="Name the snapshot yourself with flink run -s; compat inspect shows what is in it.",
        command="compat inspect {savepoint}",
        before="compat inspect {savepoint}",
        example="java.lang.IllegalStateException: No completed checkpoint available",
    ),
)
"""In the order in which they are tried."""
