"""Family 5: savepoints and checkpoints as files."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP501",
        name="savepoint-unreadable",
        level=Level.ERROR,
        failure=True,
        summary="The savepoint or checkpoint cannot be read.",
        why="Its _metadata is cut short, damaged, or of a version that is not known. The report says at which byte.",
        old="savepoint-6b54af-2f1c/_metadata   (complete)",
        new="savepoint-6b54af-2f1c/_metadata   (cut short while it was copied)",
        fix="Copy it again, whole; take another savepoint; or name the folder that holds _metadata.",
    ),
    RuleInfo(
        id="CMP502",
        name="savepoint-incomplete",
        level=Level.ERROR,
        summary="State files that the savepoint names are missing.",
        why="The file _metadata lists those that hold the state. Flink opens them when the tasks start, and fails "
        "then.",
        old="savepoint-6b54af-2f1c/_metadata\nsavepoint-6b54af-2f1c/069d8083-…",
        new="savepoint-6b54af-2f1c/_metadata",
        fix="Copy the whole folder. The files of a checkpoint may lie in shared/ and taskowned/ beside it: take a "
        "savepoint to move state elsewhere.",
    ),
    RuleInfo(
        id="CMP503",
        name="native-format",
        level=Level.ERROR,
        summary="A native savepoint of one state backend is given to another.",
        why="Native savepoints and checkpoints hold files of the backend that wrote them. Only the canonical format "
        "is the same for all.",
        old="state.backend.type: hashmap   (savepoint --type native)",
        new="state.backend.type: rocksdb",
        when="warning where NEW and -D name no backend, and the state is not in the format of Flink's default (hashmap).",
        fix="Take the savepoint with --type canonical, or keep the backend.",
    ),
    RuleInfo(
        id="CMP504",
        name="types-not-recorded",
        level=Level.NOTE,
        summary="The savepoint does not hold the declared types of some states.",
        why="In process mode, PyFlink hands bytes to Flink: a savepoint has names and containers of the states, and the "
        "types of keys and windows, but not what the bytes mean. A changed type shows only when the program that wrote "
        "the savepoint is known.",
        old='ValueStateDescriptor("count", Types.LONG())     # in the savepoint: a list of byte arrays',
        new='ValueStateDescriptor("count", Types.STRING())',
        fix="Name the program that wrote the savepoint: compat check SAVEPOINT new.py --names old.py.",
    ),
    RuleInfo(
        id="CMP505",
        name="bytes-of-another-type",
        level=Level.ERROR,
        summary="The bytes of a state in the savepoint cannot be of the type that the new program declares.",
        why="PyFlink's coders write a Long as 8 bytes and a String behind its length: a few stored values are held against "
        "the declared type. What contradicts it, the program cannot read; Flink does not notice, as it sees bytes only.",
        old='ValueStateDescriptor("count", Types.LONG())     # 8 bytes in the savepoint',
        new='ValueStateDescriptor("count", Types.STRING())',
        fix="Keep the type that wrote the state, or put the new values into a state of another name.",
    ),
)
