"""Queries whose state a recipe moves: their savepoints, and what a real Flink read of what the recipes made.

``python -m tests.compat.migration.queries save VERSION [NAME…]`` runs ``old.sql`` of the folders in
``tests/golden/migrations/queries`` in that version of Flink, and stops it with a savepoint. ``… read VERSION FILE [NAME…]``
migrates that by what the check proposes, questions answered with the first answer, and records the last row of each key that
``new.sql`` puts out from there on each state backend, beside that of a run from the beginning. ``1.20.0:2.3.0`` are savepoints
of the one version, read in the other one.
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
from tests.compat.migration.in_flink import BACKENDS, compiled

QUERIES = Path(__file__).parents[2] / "golden" / "migrations" / "queries"
VERSIONS = ("2.3.0", "1.20.0")
UPGRADE = ":".join(reversed(VERSIONS))
_AT_ONCE = 3
_PRINTED = re.compile(r"^@(.*?)@> (.*)$", re.MULTILINE)
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
    version: str = VERSIONS[0]


def names(version: str = VERSIONS[0]) -> list[str]:
    """The pairs of queries that have a savepoint of a version of Flink."""
    return sorted(folder.name for folder in QUERIES.iterdir() if savepoint_of(folder.name, version).exists())


def savepoint_of(name: str, version: str) -> Path:
    """The savepoint that the old query of a pair left in a version of Flink."""
    saved = version.partition(":")[0]
    return QUERIES / name / ("savepoint" if saved == VERSIONS[0] else f"savepoint-{saved}")


def first_answers(report: Report) -> tuple[Step, ...]:
    """The steps that a report proposes, and the first answer to each of its questions."""
    return tuple(one.instead[0] if isinstance(one.step, Open) else one.step for one in propose(report))


class Asking:
    """Checks and migrations of the pairs in a version of Flink, in JVMs that they share."""

    def __init__(self, jvms: WarmJvms, classpath: tuple[str, ...], version: str = VERSIONS[0]) -> None:
        self.jvms, self.classpath, self._version = jvms, classpath, version
        self._load = LoadOptions(jars=FlinkJars(classpath=classpath))

    def comparison(self, name: str) -> Comparison:
        """The check of the savepoint and the new query of a pair."""
        return replace(self._check(name, str(savepoint_of(name, self._version))), names=self._old(name))

    def check(self, name: str) -> Report:
        """The report on that."""
        (report,) = compare(self.comparison(name), jvms=self.jvms).outcomes
        assert isinstance(report, Report)
        return report

    def migrate(self, name: str, out: Path, *steps: Step) -> Migrated:
        """The savepoint of a pair, migrated."""
        draft = read_draft(read_metadata(savepoint_of(name, self._version)))
        told = read_names(self._old(name), self._load, None, jvms=self.jvms)
        check = self._check(name, str(out))
        asked = Migration(draft=draft, recipe=Recipe(steps=steps), names=told, check=check, old=self._old(name))
        return migrate(asked, self.jvms)

    def _check(self, name: str, old: str) -> Comparison:
        new = str(QUERIES / name / "new.sql")
        return Comparison(old=old, new=new, load=self._load, rehearse=Limit(size=1 << 20))

    @staticmethod
    def _old(name: str) -> str:
        return str(QUERIES / name / "old.sql")


class Script(msgspec.Struct, frozen=True):
    """A script to run: what it is told apart by, its options of Flink, and the folder for a savepoint that ends it."""

    tag: str
    path: Path
    options: tuple[str, ...] = ()
    saved: str = ""


def run(classpath: str, folder: str, scripts: Iterable[Script]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """What scripts put out in MiniClusters, and where their savepoints are, by their tags."""
    told = Path(folder, "scripts")
    told.write_text("".join("\t".join((one.tag, str(one.path), one.saved, *one.options)) + "\n" for one in scripts))
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time")]
    command = ["java", "-Xmx2g", *opens, "-cp", classpath, "ManySql", str(told), str(_AT_ONCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    out: dict[str, list[str]] = {}
    for tag, line in _PRINTED.findall(done.stdout):
        out.setdefault(tag, []).append(line)
    failed = re.findall(r"^FAILED (.*)$", done.stdout, re.MULTILINE)
    assert not failed, (failed, done.stderr[-3000:])
    return out, dict(re.findall(r"^SAVEPOINT (\S+) file:(\S+)$", done.stdout, re.MULTILINE))


def save(names: Iterable[str], version: str, classpath: str, folder: str) -> None:
    """Run the old queries of pairs, and keep the savepoints that end them."""
    scripts = [Script(name, QUERIES / name / "old.sql", saved=folder) for name in names]
    for name, made in run(classpath, folder, scripts)[1].items():
        kept = savepoint_of(name, version)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(made, kept)


def recorded(names: Iterable[str], version: str, classpath: str, asking: Asking, folder: str) -> Iterator[Record]:
    """What the new queries of pairs read of the migrated savepoints, and from the beginning."""
    steps, scripts = {}, []
    for name in names:
        print(name, flush=True)
        steps[name] = first_answers(asking.check(name))
        out, new = Path(folder, name), QUERIES / name / "new.sql"
        assert asking.migrate(name, out, *steps[name]).kept, name
        scripts.append(Script(name, new))
        for backend in BACKENDS:
            options = (f"execution.state-recovery.path={out}", f"state.backend.type={backend}")
            scripts.append(Script(f"{name}-{backend}", new, options))
    lines, _ = run(classpath, folder, scripts)
    for name, done in steps.items():
        found = _KEY.search((QUERIES / name / "new.sql").read_text())
        keys, whole = int(found[1]) if found else 1, lines.get(name, [])
        read = {}
        for backend in BACKENDS:
            printed = lines.get(f"{name}-{backend}", [])
            read[backend] = Read(last_rows(printed, keys), (Counter(printed) - Counter(whole)).total())
        there = {key for one in read.values() for key in one.last}
        last = {key: row for key, row in last_rows(whole, keys).items() if key in there}
        yield Record(name, Recipe(steps=done), last, read, version)


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


def main(command: str, version: str, arguments: list[str]) -> None:
    """Make savepoints, or record what was read."""
    from tests.compat.loader.jvm.support import flink_of

    path, asked = (None, arguments) if command == "save" else (arguments[0], arguments[1:])
    jars = flink_of(version.rpartition(":")[2]).classpath
    with tempfile.TemporaryDirectory() as folder, WarmJvms() as jvms:
        classpath = compiled(folder, ":".join(jars))
        if path is None:
            save(asked or sorted(one.name for one in QUERIES.iterdir()), version, classpath, folder)
            return
        with open(path, "a") as out:
            for record in recorded(
                asked or names(version), version, classpath, Asking(jvms, tuple(jars), version), folder
            ):
                out.write(json.dumps(msgspec.to_builtins(record)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
