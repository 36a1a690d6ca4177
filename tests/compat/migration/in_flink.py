"""Jobs in Java and the savepoints of their old versions, migrated by recipes and restored in a real Flink.

``python -m tests.compat.migration.in_flink FILE [NAME…]`` records, for each pair that a recipe can mend, what the new version
read of each state in a MiniCluster, on each state backend, beside what the old version had left.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars, LoadOptions
from compat.loader.jvm.warm import WarmJvms
from compat.migration.migrating import Migrated, Migration, migrate
from compat.migration.proposing import propose
from compat.migration.recipe import Open, Recipe
from compat.savepoint.names import Names
from compat.state.flink import read_draft, read_metadata

JAVA = Path(__file__).parents[2] / "golden" / "java"
VERSIONS = ("2.3.0", "1.20.0")
BACKENDS = ("hashmap", "rocksdb")
SECONDS = 12


def pairs(version: str) -> Iterator[dict[str, Any]]:
    """The recorded pairs of a version that are no queries."""
    with gzip.open(JAVA / "results.jsonl.gz", "rt") as file:
        for line in file:
            pair = json.loads(line)
            if pair["version"] == version and not pair["name"].startswith("q_"):
                yield pair


def check_of(pair: Mapping[str, Any], old: str, classpath: tuple[str, ...] = ()) -> Comparison:
    """The check of a snapshot and the new version of a pair."""
    jars = FlinkJars(version=pair["version"], main_class=pair["entryClass"], classpath=classpath)
    new = str(JAVA / pair["version"] / pair["name"] / "new.jar")
    return Comparison(old=old, new=new, load=LoadOptions(jars=jars))


def answered(report: Report) -> Recipe | None:
    """The recipe that a report proposes, with the first answer to each question; None where one has none."""
    steps = []
    for one in propose(report):
        if isinstance(one.step, Open) and not one.instead:
            return None
        steps.append(one.instead[0] if isinstance(one.step, Open) else one.step)
    return Recipe(steps=tuple(steps))


def migrated(pair: Mapping[str, Any], out: str, jvms: WarmJvms) -> tuple[Recipe, Migrated] | None:
    """The savepoint of a pair's old version, migrated by what the check proposes; None where nothing is to be mended."""
    saved = str(JAVA / pair["version"] / pair["name"] / "savepoint")
    (report,) = compare(check_of(pair, saved), jvms=jvms).outcomes
    recipe = answered(report) if isinstance(report, Report) and not report.verdict.restores else None
    if recipe is None or not recipe.steps:
        return None
    draft = read_draft(read_metadata(saved))
    asked = Migration(draft=draft, recipe=recipe, names=Names(), check=check_of(pair, out), allow_unknown=True)
    return recipe, migrate(asked, jvms)


def compiled(folder: str, classpath: str) -> str:
    """The class path with what runs a jar in a MiniCluster."""
    source = Path(__file__).parent / "restored" / "Restored.java"
    subprocess.run(["javac", "-nowarn", "-d", folder, "-cp", classpath, str(source)], check=True)
    return f"{folder}:{classpath}"


def read_in_flink(pair: Mapping[str, Any], savepoint: str, backend: str, classpath: str) -> dict[str, str]:
    """The first value that the new version reads of each state and key, restored from a savepoint in a MiniCluster."""
    jar = JAVA / pair["version"] / pair["name"] / "new.jar"
    options = [f"execution.state-recovery.path={savepoint}", f"execution.savepoint.path={savepoint}"]
    options += [f"state.backend.type={backend}", f"state.backend={backend}"]
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time")]
    command = ["java", *opens, "-cp", f"{classpath}:{jar}", "Restored", pair["entryClass"], str(SECONDS), *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=180)
    found: dict[str, str] = {}
    for line in run.stdout.splitlines():
        if line.startswith("OBS S"):
            _, state, key, value, *_ = line.split("\t")
            found.setdefault(f"{state} {key}", value)
    if not found:
        lines = [line for line in (run.stdout + run.stderr).splitlines() if "Caused by" in line or "Exception" in line]
        found["failed"] = lines[-1] if lines else "no record was read"
    return found


def main(path: str, names: list[str]) -> None:
    """Record what Flink restored, a line a pair."""
    from tests.compat.loader.jvm.support import flink_of

    with WarmJvms() as jvms, tempfile.TemporaryDirectory() as folder, open(path, "a") as out:
        for version in VERSIONS:
            classpath = compiled(folder, ":".join(flink_of(version).classpath))
            for pair in pairs(version):
                if names and pair["name"] not in names:
                    continue
                target = str(Path(folder, f"{version}-{pair['name']}"))
                try:
                    done = migrated(pair, target, jvms)
                except ValueError as error:
                    print(version, pair["name"], "refused:", error, flush=True)
                    continue
                if done is None:
                    continue
                recipe, made = done
                print(version, pair["name"], made.kept, [type(step).__name__ for step in recipe.steps], flush=True)
                if not made.kept:
                    continue
                read = {backend: read_in_flink(pair, target, backend, classpath) for backend in BACKENDS}
                before = pair["attempts"]["hashmap"].get("states", {})
                record = {"version": version, "name": pair["name"], "recipe": recipe, "before": before, "read": read}
                out.write(json.dumps(record, default=_plain) + "\n")
                out.flush()


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
