"""Queries whose state a recipe moves: their savepoints, and what a real Flink read of what the recipes made.

``python -m tests.compat.migration.queries save [NAME…]`` runs ``old.sql`` of the folders in ``tests/golden/migrations/queries``
and stops it with a savepoint. ``… read FILE [NAME…]`` migrates that by what the check proposes, questions answered with the
first answer, and records the last row of each key that ``new.sql`` puts out from there on each state backend, beside that of a
run from the beginning.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars, Limit, LoadOptions
from compat.loader.jvm.warm import WarmJvms
from compat.migration.migrating import Migrated, Migration, migrate
from compat.migration.proposing import propose
from compat.migration.recipe import Open, Recipe, Step
from compat.savepoint.load import read_names
from compat.state.flink import read_draft, read_metadata
from tests.compat.migration.in_flink import BACKENDS, SECONDS, compiled

QUERIES = Path(__file__).parents[2] / "golden" / "migrations" / "queries"
VERSION = "2.3.0"
_BEFORE_THE_SAVEPOINT = 1700
"""Milliseconds: of 400 rows, a hundred a second, there are some before it and some behind it for each key."""
_ROW = re.compile(r"(?P<kind>[+-][IUDAB]+)\[(?P<row>.*)\]")
_KEY = re.compile(r"^-- key: (\d)$", re.MULTILINE)


class Read(msgspec.Struct, frozen=True):
    """What a run put out: the last row of each key, and how many of its lines a run from the beginning does not put out."""

    last: dict[str, str]
    strange: int = 0


class Record(msgspec.Struct, frozen=True):
    """What a query read of a migrated savepoint, by state backend, and what it reads of the same keys from the beginning."""

    name: str
    recipe: Recipe
    whole: dict[str, str]
    read: dict[str, Read]


def names() -> list[str]:
    """The pairs of queries."""
    return sorted(folder.name for folder in QUERIES.iterdir())


def first_answers(report: Report) -> tuple[Step, ...]:
    """The steps that a report proposes, and the first answer to each of its questions."""
    return tuple(one.instead[0] if isinstance(one.step, Open) else one.step for one in propose(report))


class Asking:
    """Checks and migrations of the pairs, in JVMs that they share."""

    def __init__(self, jvms: WarmJvms, classpath: tuple[str, ...] = ()) -> None:
        jars = FlinkJars(classpath=classpath) if classpath else FlinkJars(version=VERSION)
        self.jvms, self._load = jvms, LoadOptions(jars=jars)

    def comparison(self, name: str) -> Comparison:
        """The check of the savepoint and the new query of a pair."""
        return replace(self._check(name, str(QUERIES / name / "savepoint")), names=self._old(name))

    def check(self, name: str) -> Report:
        """The report on that."""
        (report,) = compare(self.comparison(name), jvms=self.jvms).outcomes
        assert isinstance(report, Report)
        return report

    def migrate(self, name: str, out: Path, *steps: Step) -> Migrated:
        """The savepoint of a pair, migrated."""
        draft = read_draft(read_metadata(QUERIES / name / "savepoint"))
        told = read_names(self._old(name), self._load, None)
        check = self._check(name, str(out))
        asked = Migration(draft=draft, recipe=Recipe(steps=steps), names=told, check=check, old=self._old(name))
        return migrate(asked, self.jvms)

    def _check(self, name: str, old: str) -> Comparison:
        new = str(QUERIES / name / "new.sql")
        return Comparison(old=old, new=new, load=self._load, rehearse=Limit(size=1 << 20))

    @staticmethod
    def _old(name: str) -> str:
        return str(QUERIES / name / "old.sql")


def run(classpath: str, *arguments: str) -> list[str]:
    """The lines that a run in a MiniCluster puts out."""
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time")]
    command = ["java", *opens, "-cp", classpath, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    return (done.stdout + done.stderr).splitlines()


def save(name: str, classpath: str, folder: str) -> None:
    """Run the old query of a pair, and keep the savepoint that ends it."""
    script = str(QUERIES / name / "old.sql")
    lines = run(classpath, "SavedSql", script, str(_BEFORE_THE_SAVEPOINT), str(Path(folder, name)))
    (made,) = (line.partition("file:")[2] for line in lines if line.startswith("SAVEPOINT"))
    kept = QUERIES / name / "savepoint"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(made, kept)


def recorded(name: str, classpath: str, asking: Asking, folder: str) -> Record:
    """What the new query of a pair reads of the migrated savepoint, and from the beginning."""
    steps = first_answers(asking.check(name))
    out = Path(folder, f"{name}-out")
    assert asking.migrate(name, out, *steps).kept, name
    script = QUERIES / name / "new.sql"
    found = _KEY.search(script.read_text())
    keys = int(found[1]) if found else 1
    whole = run(classpath, "RestoredSql", str(script), str(SECONDS))
    read = {}
    for backend in BACKENDS:
        options = (f"execution.state-recovery.path={out}", f"state.backend.type={backend}")
        lines = run(classpath, "RestoredSql", str(script), str(SECONDS), *options)
        strange = Counter(filter(_ROW.match, lines)) - Counter(whole)
        read[backend] = Read(last_rows(lines, keys), strange.total())
    there = {key for one in read.values() for key in one.last}
    last = {key: row for key, row in last_rows(whole, keys).items() if key in there}
    return Record(name, Recipe(steps=steps), last, read)


def last_rows(lines: Iterable[str], keys: int) -> dict[str, str]:
    """The last row of each key in what the print connector put out."""
    found: dict[str, str] = {}
    for line in lines:
        if (row := _ROW.match(line)) is not None:
            parts = row["row"].split(", ")
            key = ", ".join(parts[:keys])
            found.pop(key, None)
            if row["kind"].startswith("+"):
                found[key] = ", ".join(parts[keys:])
    return found


def records(path: Path = QUERIES.parent / "queries.jsonl") -> Iterator[Record]:
    """What was recorded."""
    for line in path.read_text().splitlines():
        yield msgspec.json.decode(line, type=Record)


def main(command: str, arguments: list[str]) -> None:
    """Make savepoints, or record what was read."""
    from tests.compat.loader.jvm.support import flink_of

    path, asked = (None, arguments) if command == "save" else (arguments[0], arguments[1:])
    jars = flink_of(VERSION).classpath
    with tempfile.TemporaryDirectory() as folder, WarmJvms() as jvms:
        classpath = compiled(folder, ":".join(jars))
        asking = Asking(jvms, tuple(jars))
        for name in asked or names():
            print(name, flush=True)
            if path is None:
                save(name, classpath, folder)
                continue
            record = recorded(name, classpath, asking, folder)
            with open(path, "a") as out:
                out.write(json.dumps(msgspec.to_builtins(record)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
