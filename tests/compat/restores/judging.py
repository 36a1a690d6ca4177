"""What the check says of a recorded restore, and whether that is right."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from compat.check.findings import Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from tests.compat.restores.texts import LEAVE_BEHIND

GOLDEN = Path(__file__).parents[2] / "golden" / "random_restores"
CLUSTER = {"parallelism.default": "2", "python.execution-mode": "process"}
OF_LEFT_STATE = frozenset(
    ("CMP101", "CMP102", "CMP103", "CMP107", "CMP111", "CMP112", "CMP401", "CMP402", "CMP403", "CMP412", "CMP413")
)
"""Rules that say that a state is not taken up, or by another operator."""
OF_LATER = frozenset({"CMP809"})
"""Rules that speak of what comes when the readers are done with the files that they have, which no restore here waits for."""
OF_ANOTHER_BACKEND = "Could not restore keyed state backend"
"""What Flink says of a snapshot in the own format of another backend."""
WARNED_OF = {
    OF_ANOTHER_BACKEND: "CMP607",
    "mixed operator finished state": "CMP204",
    "Illegal JobGraph modification": "CMP204",
}
"""By what Flink says, the rules that warn of what depends on the snapshot, of which two programs do not tell in which format it
will be, and which of the sources will have ended."""


_LAST_PART = 1000
"""The numbers of parts behind it are what timers tell, which are of no source."""


_SOURCE = re.compile(r"^ +\w+ = (?P<made>env\..*)\.map\(lambda n: slow\(n, (?P<first>\d+), ", re.MULTILINE)
_PART, _NUMBERS = 1_250_000, 9_999_999
"""How many numbers a part has, and a source."""


class Record(msgspec.Struct, frozen=True):
    """What PyFlink did with two versions of a job: the programs, the labels of what both print, the savepoint's metadata in
    base64, its other files by name, what states held before and after by label and key, and how far parts of sources were
    read. ``inputs`` are the files of numbers that they may read, by path, with their first number and how many they have.
    Where OLD wrote files, ``written`` is how many numbers were published in them when NEW had come to its end, ``unwritten``
    those of OLD that were not, and ``twice`` those that were more than once, as ``1-20 25``. ``old_flink`` is the version that
    wrote the savepoint, where it is another one."""

    seed: int
    flink: str
    edits: tuple[str, ...]
    old: str
    new: str
    told: tuple[str, ...]
    outcome: str
    savepoint: str = ""
    files: dict[str, str] = {}
    when: str = ""
    errors: tuple[str, ...] = ()
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    read: dict[str, int] = {}
    read_after: dict[str, int] = {}
    inputs: dict[str, tuple[int, int]] = {}
    written: int | None = None
    unwritten: str = ""
    twice: str = ""
    old_flink: str | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.flink}-{self.seed}-{'-'.join(self.edits).replace(' ', '_')}"

    @property
    def lost(self) -> tuple[str, ...]:
        """The states, and parts of sources, that NEW did not find as OLD left them."""
        states = [
            label
            for label in sorted(self.before.keys() & self.after)
            if not _is_there(self.before[label], self.after[label])
        ]
        parts = {
            part: self.read_after[part] - self.read[part]
            for part in sorted(self.read.keys() & self.read_after)
            if not part.startswith("another") and int(part) <= _LAST_PART
        }
        return (
            *states,
            *(f"part {part} of the sources" for part, on in parts.items() if on != 1),
            *self._wrong(),
            *(["what no file has"] if self.unwritten else []),
            *(["what files have twice"] if self.twice else []),
        )

    def _wrong(self) -> list[str]:
        return sorted(part for part in self.read_after.keys() - self.read if part.startswith("another"))

    @property
    def seen(self) -> bool:
        """Whether OLD printed anything by which the restore can be judged."""
        return bool(self.before or self.read)

    @property
    def kept(self) -> bool:
        """Whether NEW ran and all that can be seen of OLD's state was there."""
        return self.outcome == "restored" and not self.lost

    @property
    def silent(self) -> bool:
        """Whether a source that is another one in NEW gives nothing there: one that had finished does not run again."""
        return any(
            made not in self.old and self.read.keys() & parts and not self.read_after.keys() & parts
            for made, parts in _sources_of(self.new)
        )

    @property
    def left(self) -> tuple[str, ...]:
        """The states of OLD that NEW does not print: none of them is there any more, or another one is in its place."""
        return tuple(sorted({label.rpartition(".")[0] for label in self.before} - set(self.told)))

    @property
    def leaves_behind(self) -> bool:
        """Whether NEW asks for state that nothing takes to be dropped."""
        return LEAVE_BEHIND[0] in self.new

    def put(self, folder: Path) -> tuple[Path, Path, Path]:
        """Write down OLD, NEW and the savepoint."""
        folder.mkdir()
        old, new, savepoint = folder / "old.py", folder / "new.py", folder / "savepoint"
        old.write_text(self.old, encoding="utf-8")
        new.write_text(self.new, encoding="utf-8")
        savepoint.mkdir()
        for name, content in {**self.files, "_metadata": self.savepoint}.items():
            (savepoint / name).write_bytes(base64.b64decode(content))
        return old, new, savepoint


def _sources_of(program: str) -> Iterator[tuple[str, set[str]]]:
    """The sources of a program: how they are made, and the parts of their numbers."""
    for match in _SOURCE.finditer(program):
        start = int(match["first"])
        yield match["made"], {str(part) for part in range(start // _PART, (start + _NUMBERS) // _PART + 1)}


def _is_there(before: str, after: str) -> bool:
    """Whether NEW found what OLD left: the value itself, or the list of it where the state became one of a list."""
    return after in (before, f"[{before}]")


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
    load = LoadOptions(options=CLUSTER, flink=minor(record.flink))
    load_old = replace(load, flink=minor(record.old_flink or record.flink))
    given = Comparison(
        old if mode is Mode.PROGRAM else savepoint,
        new,
        load=load,
        load_old=load_old,
        names=old if mode is Mode.NAMED else None,
    )
    (outcome,) = compare(given).outcomes
    return outcome


def minor(version: str) -> str:
    """The version of Flink that counts: ``1.20`` of ``1.20.1``."""
    return ".".join(version.split(".")[:2])


def wrong(record: Record, mode: Mode, outcome: Report | Undecided) -> str:
    """In which way an outcome is wrong; nothing if it is right."""
    verdict = outcome.verdict
    told = verdict is Verdict.INCOMPATIBLE or isinstance(outcome, Undecided)
    if verdict is Verdict.UNKNOWN and (mode is Mode.SAVEPOINT or not record.kept):
        return ""
    rules = {} if isinstance(outcome, Undecided) else {each.rule: each.level for each in outcome.findings}
    if record.outcome == "restored" and record.left and not told and not rules.keys() & OF_LEFT_STATE:
        return "nothing is said of state that is left behind"
    if record.kept:
        errors = {rule for rule, level in rules.items() if level is Level.ERROR}
        told = told and not (record.left and errors <= OF_LEFT_STATE) and not (errors and errors <= OF_LATER)
        return "a false alarm" if (told or verdict is Verdict.UNKNOWN) and not record.silent else ""
    if record.leaves_behind:
        told = told or bool(rules.keys() & OF_LEFT_STATE)
    if mode is Mode.PROGRAM:
        told = told or any(
            said in error and rule in rules for error in record.errors for said, rule in WARNED_OF.items()
        )
    return (
        ""
        if told
        else "a failure is called compatible"
        if record.outcome == "failed"
        else "a loss is called compatible"
    )
