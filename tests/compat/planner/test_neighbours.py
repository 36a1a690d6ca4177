"""Savepoints of Flink's planner restored into plans of neighbours: of the same operators, which keep something else.

Nothing is called compatible that Flink refuses. ``python -m tests.compat.planner.test_neighbours [STEP]`` tells figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from compat.check.findings import Report, Verdict
from compat.check.undecided import Undecided
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.java import find_java
from tests import needs
from tests.compat.planner.test_planner_restores import Plan, cases, jars, says, script, verdicts
from tests.needs import Need

_RUNS = {"ran": True, "runs": True, "failed": False}
"""By what became of a job, whether Flink restored it; a plan that cannot be loaded tells nothing."""


class Neighbours(NamedTuple):
    """The savepoint of one case, and the plan of another under its ids."""

    old: Path
    new: Path
    plan: Path

    @property
    def savepoint(self) -> Path:
        return self.old / "savepoint"


def plan_of(case: Path) -> tuple[Path, Plan]:
    path = next(case.glob("plan/*.json"))
    return path, json.loads(path.read_text(encoding="utf-8"))


def neighbours(folder: Path) -> Iterator[Neighbours]:
    """Each case with the next one whose plan has the same operators, connected alike."""
    alike: defaultdict[tuple[object, ...], list[Path]] = defaultdict(list)
    for case in cases(folder):
        _, plan = plan_of(case)
        places = {node["id"]: place for place, node in enumerate(plan["nodes"])}
        edges = sorted((places[edge["source"]], places[edge["target"]]) for edge in plan["edges"])
        alike[(tuple(node["type"] for node in plan["nodes"]), tuple(edges))].append(case)
    for group in alike.values():
        if len(group) > 1:
            yield from (
                Neighbours(old, new, _renumbered(folder, old, new))
                for old, new in zip(group, [*group[1:], group[0]], strict=True)
            )


def _renumbered(folder: Path, old: Path, new: Path) -> Path:
    """NEW's plan with the ids of OLD's, from which Flink makes the uids of operators."""
    (_, before), (path, plan) = plan_of(old), plan_of(new)
    ids = {node["id"]: other["id"] for node, other in zip(plan["nodes"], before["nodes"], strict=True)}
    for node in plan["nodes"]:
        node["id"] = ids[node["id"]]
    for edge in plan["edges"]:
        edge["source"], edge["target"] = ids[edge["source"]], ids[edge["target"]]
    written = folder / f"{old.parent.name}.{old.name}.{path.name}"
    written.write_text(json.dumps(plan), encoding="utf-8")
    return written


def restored(folder: Path, pairs: Sequence[Neighbours]) -> Iterator[tuple[Neighbours, str, str]]:
    """What Flink made of each pair, and why."""
    classpath = os.pathsep.join(map(str, jars()))
    source, classes = Path(__file__).with_name("RestorePlans.java"), folder / "classes"
    subprocess.run(["javac", "-nowarn", "-d", str(classes), "-cp", classpath, str(source)], check=True)
    java = [find_java().command, "-Xmx1200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "time")]
    asked = folder / "asked"
    asked.write_text("".join(_asked(pair) for pair in pairs), encoding="utf-8")
    command = [*java, "-cp", os.pathsep.join((str(classes), classpath)), source.stem]
    with (
        asked.open() as lines,
        subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process,
    ):
        assert process.stdout is not None
        for pair, line in zip(pairs, process.stdout, strict=False):
            answer = json.loads(line)
            yield pair, answer["outcome"], answer.get("error", "")


def _asked(pair: Neighbours) -> str:
    statements = [one.removesuffix(";") for one in script(pair.plan).split(";\n")]
    return json.dumps({"statements": statements, "savepoint": str(pair.savepoint)}) + "\n"


def outcomes(folder: Path, step: int) -> Iterator[tuple[Neighbours, bool, str, Report | Undecided]]:
    """What Flink made of each ``step``-th pair, whether it restored it and what it said, and what the check says."""
    pairs = list(neighbours(folder))[::step]
    told = [(pair, outcome, error) for pair, outcome, error in restored(folder, pairs) if outcome in _RUNS]
    asked = [(pair.savepoint, pair.plan, plan_of(pair.old)[0]) for pair, _, _ in told]
    for (pair, outcome, error), found in zip(told, verdicts(folder, asked), strict=True):
        yield pair, _RUNS[outcome], error, found


@pytest.mark.slow
def test_what_flink_refuses_is_not_compatible(tmp_path: Path) -> None:
    try:
        found = list(outcomes(tmp_path, 12))
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    assert len(found) > 10
    fine = (Verdict.COMPATIBLE, Verdict.MIGRATION)
    wrong = [
        (pair.old.name, pair.new.name, error) for pair, ran, error, one in found if not ran and one.verdict in fine
    ]
    assert wrong == []


def main() -> None:
    """Tell the figures."""
    counted: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for pair, ran, error, found in outcomes(Path(folder), int((sys.argv[1:] or ["1"])[0])):
            counted["restored" if ran else "refused", found.verdict.value] += 1
            if ran is not (found.verdict in (Verdict.COMPATIBLE, Verdict.MIGRATION)):
                print(
                    pair.old.parent.name,
                    pair.old.name,
                    pair.new.name,
                    ran,
                    found.verdict.value,
                    says(found),
                    error[-200:],
                )
    print(dict(counted))


if __name__ == "__main__":
    main()
