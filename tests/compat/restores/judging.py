"""What the check says of a recorded restore, and whether that is right."""

from __future__ import annotations

import base64
import gzip
from dataclasses import replace
from enum import Enum
from pathlib import Path

import msgspec

from compat.check.findings import Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions

GOLDEN = Path(__file__).parents[2] / "golden" / "random_restores"
CLUSTER = {"parallelism.default": "2"}


class Record(msgspec.Struct, frozen=True):
    """What PyFlink did with two versions of a job: the programs, the labels of what both print, the savepoint's metadata in
    base64, what states held before and after by label and key, and how far parts of sources were read. ``old_flink`` is the
    version that wrote the savepoint, where it is another one."""

    seed: int
    flink: str
    edits: tuple[str, ...]
    old: str
    new: str
    told: tuple[str, ...]
    outcome: str
    savepoint: str = ""
    when: str = ""
    errors: tuple[str, ...] = ()
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    read: dict[str, int] = {}
    read_after: dict[str, int] = {}
    old_flink: str | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.flink}-{self.seed}-{'-'.join(self.edits).replace(' ', '_')}"

    @property
    def lost(self) -> tuple[str, ...]:
        """The states, and parts of sources, that NEW did not find as OLD left them."""
        states = [label for label in sorted(self.before.keys() & self.after) if self.before[label] != self.after[label]]
        parts = [
            part for part in sorted(self.read.keys() & self.read_after) if self.read_after[part] <= self.read[part]
        ]
        return (
            *states,
            *(f"part {part} of the sources" for part in parts if not part.startswith("another")),
            *self._wrong(),
        )

    def _wrong(self) -> list[str]:
        return sorted(part for part in self.read_after.keys() - self.read if part.startswith("another"))

    @property
    def kept(self) -> bool:
        """Whether NEW ran and all that can be seen of OLD's state was there."""
        return self.outcome == "restored" and not self.lost

    def put(self, folder: Path) -> tuple[Path, Path, Path]:
        """Write down OLD, NEW and the savepoint."""
        folder.mkdir()
        old, new, savepoint = folder / "old.py", folder / "new.py", folder / "savepoint"
        old.write_text(self.old, encoding="utf-8")
        new.write_text(self.new, encoding="utf-8")
        savepoint.mkdir()
        (savepoint / "_metadata").write_bytes(base64.b64decode(self.savepoint))
        return old, new, savepoint


class Mode(Enum):
    """What OLD is in a check."""

    PROGRAM = "program"
    SAVEPOINT = "savepoint"
    NAMED = "savepoint and names"


def records(flink: str) -> tuple[Record, ...]:
    """The recorded restores of a version of Flink."""
    with gzip.open(GOLDEN / f"{flink}.jsonl.gz", "rb") as file:
        return tuple(msgspec.json.decode(line, type=Record) for line in file)


def outcome_of(record: Record, mode: Mode, folder: Path) -> Report | Undecided:
    """The check of a record."""
    old, new, savepoint = map(str, record.put(folder))
    load = LoadOptions(options=CLUSTER, flink=_minor(record.flink))
    load_old = replace(load, flink=_minor(record.old_flink or record.flink))
    given = Comparison(
        old if mode is Mode.PROGRAM else savepoint,
        new,
        load=load,
        load_old=load_old,
        names=old if mode is Mode.NAMED else None,
    )
    (outcome,) = compare(given).outcomes
    return outcome


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def wrong(record: Record, mode: Mode, outcome: Report | Undecided) -> str:
    """In which way an outcome is wrong; nothing if it is right."""
    verdict = outcome.verdict
    told = verdict is Verdict.INCOMPATIBLE or isinstance(outcome, Undecided)
    if verdict is Verdict.UNKNOWN and mode is Mode.SAVEPOINT:
        return ""
    if record.kept:
        return "a false alarm" if told or verdict is Verdict.UNKNOWN else ""
    return (
        ""
        if told
        else "a failure is called compatible"
        if record.outcome == "failed"
        else "a loss is called compatible"
    )
