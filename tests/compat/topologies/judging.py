"""What the check says of a recorded restore of topologies, and whether that is right."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from compat.check.findings import Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from compat.loader.topology import plan_of
from compat.plan.facts import Program, facts_of
from compat.state.model.job import Plan
from tests.compat.restores.judging import OF_ANOTHER_BACKEND, OF_LEFT_STATE, minor
from tests.compat.topologies.drawing import WITH_TIMERS

GOLDEN = Path(__file__).parents[2] / "golden" / "random_topologies"
_OF_THE_MACHINE = ("NoResourceAvailableException", "did not run within", "TimeoutException")
"""What Flink says of a machine that was too small or too slow."""


CLUSTER = {"state.backend.type": "hashmap"}
"""What holds where a job says nothing."""

ONE_IN = 8
"""The part of the records that the tests of single modules look at."""


def some() -> tuple[Record, ...]:
    """Records of canonical savepoints, of which all that is decided can be told from two programs."""
    return tuple(record for record in records(GOLDEN / "2.3.0.jsonl.gz") if record.saved == "canonical")[::ONE_IN]


_UNSEEN = ("sum", "async_wait", "window", "window_all")
"""Calls that keep what nobody sees."""

_NAMELESS = ("reduce", "window", "window_all", "source", "source_unbounded", "source_data")
"""Calls whose state has no name in a topology."""


class Restored(msgspec.Struct, frozen=True):
    """What Flink did with a next version: ``seen`` has what each state held at first, by label and name, the operator's
    number or ``EMPTY``; states of operators that fold have no name."""

    edits: tuple[str, ...]
    topology: dict[str, Any]
    allow: bool
    outcome: str
    seen: dict[str, tuple[str, ...]] = {}
    error: str | None = None

    @property
    def judged(self) -> bool:
        """Whether it says anything of the state."""
        return not any(said in (self.error or "") for said in _OF_THE_MACHINE)


class Record(msgspec.Struct, frozen=True):
    """A topology that ran in Flink, the names of the states that it wrote, the files of its savepoint in base64, and what
    became of its next versions. ``saved`` is what was taken: a canonical or native savepoint, or a checkpoint. ``old_flink``
    is the version that wrote it, where it is another one."""

    seed: int
    flink: str
    old: dict[str, Any]
    kept: tuple[str, ...]
    files: dict[str, str]
    restored: tuple[Restored, ...]
    saved: str = "canonical"
    old_flink: str | None = None

    def put(self, folder: Path) -> tuple[Path, Path]:
        """Write down OLD and its savepoint."""
        folder.mkdir()
        old, savepoint = folder / "old.json", folder / "savepoint"
        old.write_text(json.dumps(self.old), encoding="utf-8")
        savepoint.mkdir()
        taken = savepoint
        for name, content in self.files.items():
            path = savepoint / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(content))
            if path.name == "_metadata":
                taken = path.parent
        return old, taken


def records(path: Path) -> tuple[Record, ...]:
    """The records of a file."""
    with gzip.open(path, "rb") as file:
        return tuple(msgspec.json.decode(line, type=Record) for line in file)


def outcome_of(record: Record, restored: Restored, old: Path, folder: Path) -> Report | Undecided:
    """The check of a next version against OLD, which is the program or the savepoint."""
    new = folder / "new.json"
    new.write_text(json.dumps(restored.topology), encoding="utf-8")
    load, load_old = (LoadOptions(flink=minor(flink)) for flink in (record.flink, record.old_flink or record.flink))
    load = replace(load, options=CLUSTER)
    given = Comparison(str(old), str(new), load=load, load_old=load_old, allow_non_restored=restored.allow)
    (outcome,) = compare(given).outcomes
    return outcome


def facts(record: Record, topology: dict[str, Any]) -> tuple[Program, dict[int, str]]:
    """A topology of a record without a detour over files, and the labels of its calls by the nodes of their operators."""
    plan = plan_of(topology, minor(record.flink), CLUSTER)
    assert isinstance(plan, Plan), plan
    return facts_of(plan, name="job", kind="topology"), {node: label for label, node in plan.transformations.items()}


def _of_the_format(restored: Restored, lost: dict[str, str]) -> set[str]:
    """The rules by which two programs are told what only some snapshots do, where that is what happened."""
    if OF_ANOTHER_BACKEND in (restored.error or ""):
        return {"CMP607"}
    return {"CMP506"} if lost and all(state.endswith("timers") for state in lost) else set()


def losses(record: Record, restored: Restored) -> dict[str, str]:
    """The states, by label and name, that did not find what OLD left to them, and what they found."""
    lost: dict[str, str] = {}
    for state, values in restored.seen.items():
        label, _, _ = state.partition("|")
        others = {value for value in values if value not in ("EMPTY", label[1:])}
        strangers = [value for value in sorted(others) if not _alike(record.old, restored.topology, f"n{value}", label)]
        if strangers:
            lost[state] = f"what n{strangers[0]} kept"
        elif set(values) == {"EMPTY"} and state in record.kept:
            lost[state] = "nothing"
    return lost


def left(record: Record, restored: Restored) -> list[str]:
    """The states of OLD, by label and name, that NEW does not ask for.

    What a sum keeps, a reduce takes up; what merging windows keep, no others find.
    """
    before, after = (
        {
            (op["id"], op["kind"].replace("sum", "reduce"), op.get("uid"), "session" in op.get("window", ""))
            for op in topology["ops"]
            if op["kind"] in kinds
        }
        for topology, kinds in ((record.old, _UNSEEN), (restored.topology, (*_UNSEEN, "reduce")))
    )
    return sorted(set(record.kept) - _asked(restored.topology) | {label for label, *_ in before - after})


def _asked(topology: dict[str, Any]) -> set[str]:
    """What a topology takes up: functions that can set timers take those that there are."""
    keyed = {op["id"] for op in topology["ops"] if op["kind"] == "key_by"}
    timers = {
        f"{op['id']}|{clock} timers"
        for op in topology["ops"]
        for clock in ("event", "processing")
        if op["kind"] in WITH_TIMERS and op["inputs"][0] in keyed
    }
    return timers | _declared(topology)


def _declared(topology: dict[str, Any]) -> set[str]:
    asked = {f"{op['id']}|{state['name']}" for op in topology["ops"] for state in op.get("states", ())}
    asked |= {f"{op['id']}|{clock} timers" for op in topology["ops"] for clock in op.get("about", {}).get("timers", ())}
    return asked | {f"{op['id']}|" for op in topology["ops"] if op["kind"] in _NAMELESS}


def _alike(old: dict[str, Any], new: dict[str, Any], giver: str, taker: str) -> bool:
    """Whether nothing in two topologies tells an operator that gave its state from the one that took it."""
    before = [op for op in old["ops"] if op["id"] == giver]
    now = [op for op in new["ops"] if op["id"] == taker]
    return [_traits(op) for op in before] == [_traits(op) for op in now]


def _traits(op: dict[str, Any]) -> dict[str, Any]:
    return {field: op.get(field) for field in ("kind", "states", "name", "window", "function")}


def wrong(record: Record, restored: Restored, outcome: Report | Undecided, from_savepoint: bool) -> str:
    """In which way an outcome is wrong; nothing if it is right."""
    unknown = outcome.verdict is Verdict.UNKNOWN
    told = outcome.verdict is Verdict.INCOMPATIBLE or isinstance(outcome, Undecided)
    rules = set() if isinstance(outcome, Undecided) else {finding.rule for finding in outcome.findings}
    lost, behind = losses(record, restored), left(record, restored)
    if not from_savepoint:
        told = told or (record.saved != "canonical" and bool(rules & _of_the_format(restored, lost)))
    if restored.outcome != "running":
        return "" if told or (unknown and from_savepoint) else "a failure is called compatible"
    if lost:
        told = told or (unknown and from_savepoint) or (restored.allow and bool(rules & OF_LEFT_STATE))
        return "" if told else "a loss is called compatible"
    if behind:
        return "" if told or rules & OF_LEFT_STATE or unknown else "nothing is said of state that is left behind"
    if not from_savepoint and _declared(record.old) > set(record.kept):
        return ""  # something that OLD declares was never touched
    return "a false alarm" if told or (unknown and not from_savepoint) else ""
