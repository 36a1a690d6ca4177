"""Savepoints that Flink's planner restores in its own tests, each held against the compiled plan that wrote it.

The jar of the planner's tests has them, with plans of Flink 1.19 and later; none is kept here. A plan does not tell how its
tables were declared: that is made of their schemas. ``python -m tests.compat.planner.test_planner_restores [STEP]`` tells
figures.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars, LoadOptions
from compat.loader.jvm.distribution import FLINK
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.warm import WarmJvms
from tests import needs
from tests.needs import Need

VERSION = "2.3.0"
RUN = (
    "flink-clients",
    "flink-streaming-java",
    "flink-statebackend-rocksdb",
    "flink-connector-files",
    "flink-csv",
    "flink-table-api-java-bridge",
    "flink-table-planner_2.12",
    "flink-table-runtime",
)
TESTS = (
    "flink-table-planner_2.12",
    "flink-table-runtime",
    "flink-table-common",
    "flink-table-api-java",
    "flink-core",
    "flink-runtime",
    "flink-streaming-java",
)
UNREGISTERED = "Cannot load Plan"
"""Functions of the planner's tests are registered by their programs; a plan only names them."""

Plan = dict[str, Any]


def jars() -> tuple[Path, ...]:
    """Flink with its planner as it is, and the tables of the planner's tests."""
    run = fetch(f"flink-planner-{VERSION}", [Artifact(group=FLINK, name=name, version=VERSION) for name in RUN])
    artifacts = [Artifact(group=FLINK, name=name, version=VERSION, classifier="tests", alone=True) for name in TESTS]
    artifacts += [
        Artifact(group=FLINK, name="flink-test-utils", version=VERSION, alone=True),
        Artifact(group=FLINK, name="flink-test-utils-junit", version=VERSION, alone=True),
        Artifact(group="org.assertj", name="assertj-core", version="3.27.3", alone=True),
        Artifact(group="org.junit.jupiter", name="junit-jupiter-api", version="5.11.4", alone=True),
        Artifact(group="junit", name="junit", version="4.13.2", alone=True),
    ]
    return (*run, *fetch(f"flink-planner-tests-{VERSION}", artifacts))


_TIMES = {"TIMESTAMP_WITHOUT_TIME_ZONE": "TIMESTAMP", "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "TIMESTAMP_LTZ"}


def spelled(kind: Any) -> str:
    """A type as DDL has it; time attributes are objects in a plan."""
    if isinstance(kind, str):
        return kind
    name = str(kind.get("type"))
    return f"{_TIMES[name]}({kind.get('precision', 3)})" if name in _TIMES else name


def column(one: Plan) -> str:
    match one.get("kind", "PHYSICAL"):
        case "COMPUTED":
            return f"`{one['name']}` AS {one['expression']['serializableString']}"
        case "METADATA":
            key = f" FROM '{one['metadataKey']}'" if one.get("metadataKey") else ""
            return (
                f"`{one['name']}` {spelled(one['dataType'])} METADATA{key}{' VIRTUAL' if one.get('isVirtual') else ''}"
            )
        case _:
            return f"`{one['name']}` {spelled(one['dataType'])}"


def created(name: str, table: Plan, options: dict[str, str]) -> str:
    """The statement that makes a table of a plan."""
    schema = table["schema"]
    parts = [column(one) for one in schema["columns"]]
    for mark in schema.get("watermarkSpecs", ()):
        parts.append(f"WATERMARK FOR `{mark['rowtimeAttribute']}` AS {mark['expression']['serializableString']}")
    if key := schema.get("primaryKey"):
        parts.append(f"PRIMARY KEY ({', '.join(f'`{one}`' for one in key['columns'])}) NOT ENFORCED")
    by = ", ".join(f"`{one}`" for one in table.get("partitionKeys") or ())
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    partitioned = f" PARTITIONED BY ({by})" if by else ""
    return f"CREATE TABLE {name} ({', '.join(parts)}){partitioned} WITH ({given});"


def options_of(
    place: str, table: Plan, abilities: list[Plan], *, looked_up: bool, asynchronous: bool
) -> dict[str, str]:
    """What the connector of the planner's tests has to be set to, for what the plan has of a table."""
    options = {"connector": "values", "bounded": "false"}
    if place == "scanTableSource":
        options |= {"disable-lookup": str(not looked_up).lower(), "runtime-source": "NewSource", "terminating": "true"}
    if place == "dynamicTableSink":
        options = {"connector": "values", "sink-insert-only": "false", "disable-lookup": "true"}
    if asynchronous and (place == "temporalTable" or looked_up):
        options["async"] = "true"
    metadata = [one for one in table["schema"]["columns"] if one.get("kind") == "METADATA"]
    if metadata:
        told = ",".join(f"{one.get('metadataKey') or one['name']}:{spelled(one['dataType'])}" for one in metadata)
        options["writable-metadata" if place == "dynamicTableSink" else "readable-metadata"] = told
    for ability in abilities:
        match ability["type"]:
            case "FilterPushDown":
                options["filterable-fields"] = ";".join(one["name"] for one in table["schema"]["columns"])
            case "WatermarkPushDown":
                options["enable-watermark-push-down"] = "true"
            case "PartitionPushDown":
                parts = (",".join(f"{key}:{value}" for key, value in one.items()) for one in ability["partitions"])
                options["partition-list"] = ";".join(parts)
    return options | ({} if place == "dynamicTableSink" else {"changelog-mode": "I,UB,UA,D"})


def script(path: Path) -> str:
    """Statements that make a plan's tables and run it."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    looked_up = any("delta-join" in node["type"] for node in plan["nodes"])
    asynchronous = any("asyncOptions" in node for node in plan["nodes"])
    tables: dict[str, Plan] = {}
    options: dict[str, dict[str, str]] = {}
    for node in plan["nodes"]:
        for place in ("scanTableSource", "dynamicTableSink", "temporalTable"):
            given = node.get(place, {})
            given = given.get("lookupTableSource", given)
            table = given.get("table", given)
            if table.get("identifier") and table.get("resolvedTable"):
                name = table["identifier"]
                tables[name] = table["resolvedTable"]
                found = options_of(
                    place,
                    tables[name],
                    given.get("abilities") or [],
                    looked_up=looked_up,
                    asynchronous=asynchronous,
                )
                options[name] = options.get(name, {}) | found
    return "\n".join(
        [*(created(name, table, options[name]) for name, table in tables.items()), f"EXECUTE PLAN '{path}';"]
    )


def cases(folder: Path) -> list[Path]:
    """The folders of the planner's tests of restores, each with a plan and the savepoint that it wrote."""
    tests = next(jar for jar in jars() if "planner" in jar.name and "tests" in jar.name)
    with zipfile.ZipFile(tests) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith("restore-tests/")])
    return sorted(metadata.parents[1] for metadata in folder.glob("restore-tests/*/*/savepoint/_metadata"))


def verdicts(folder: Path, asked: Iterable[tuple[Path, Path, Path]]) -> Iterator[Report | Undecided]:
    """What is said of each savepoint, the plan that is to restore it, and the plan that wrote it."""
    load = LoadOptions(flink="2.3", timeout=120, jars=FlinkJars(classpath=tuple(map(str, jars()))))
    with WarmJvms() as jvms:
        for number, (savepoint, plan, before) in enumerate(asked):
            new, old = folder / f"new{number}.sql", folder / f"old{number}.sql"
            for program, given in ((new, plan), (old, before)):
                program.write_text(script(given), encoding="utf-8")
            named = new if plan == before else old
            (outcome,) = compare(Comparison(str(savepoint), str(new), load=load, names=str(named)), jvms=jvms).outcomes
            yield outcome


def outcomes(folder: Path, step: int) -> Iterator[tuple[str, Report | Undecided]]:
    """What is said of each ``step``-th savepoint and the plan that wrote it."""
    some = cases(folder)[::step]
    plans = [next(case.glob("plan/*.json")) for case in some]
    asked = ((case / "savepoint", plan, plan) for case, plan in zip(some, plans, strict=True))
    for case, outcome in zip(some, verdicts(folder, asked), strict=True):
        yield f"{case.parent.name}/{case.name}", outcome


def says(outcome: Report | Undecided) -> str:
    if isinstance(outcome, Undecided):
        message = outcome.failures[0].message
        return UNREGISTERED if UNREGISTERED in message else message
    return ", ".join(sorted({one.rule for one in outcome.findings if one.level in (Level.ERROR, Level.UNKNOWN)}))


@pytest.mark.slow
def test_a_plan_restores_what_it_wrote(tmp_path: Path) -> None:
    try:
        found = dict(outcomes(tmp_path, 9))
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    assert len(found) > 20
    verdicts = {name: (one.verdict, says(one)) for name, one in found.items() if one.verdict is not Verdict.COMPATIBLE}
    assert {said for _, said in verdicts.values()} <= {UNREGISTERED}, verdicts
    assert len(verdicts) < len(found) / 4


def main() -> None:
    """Tell the figures."""
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, outcome in outcomes(Path(folder), int((sys.argv[1:] or ["1"])[0])):
            counted[f"{outcome.verdict.value} {says(outcome)}".strip()] += 1
            if outcome.verdict is not Verdict.COMPATIBLE:
                print(name, outcome.verdict.value, says(outcome), flush=True)
    print(dict(counted))


if __name__ == "__main__":
    main()
