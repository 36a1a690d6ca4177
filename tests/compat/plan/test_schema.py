"""Plans follow the schema that compat ships."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compat import schemas
from compat.loader.inputs import LoadOptions, load, opened
from compat.loader.topology import plan_of
from compat.plan.writing import plain

GOLDEN = Path(__file__).parents[2] / "golden"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("plan"))


def topologies(flink: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / "topologies" / f"flink-{flink}.jsonl.gz", "rt", encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    return [case for case in cases if len(case["spec"]["ops"]) < 50]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("flink", ["2.3", "1.20"])
def test_plans_of_topologies_and_refusals(flink: str) -> None:
    for case in topologies(flink)[::4]:
        VALIDATOR.validate(plain(plan_of(case["spec"], flink, {})))


def test_plans_of_programs() -> None:
    examples = Path(__file__).parents[3] / "compat" / "examples"
    for program in sorted(examples.glob("*/*.py")):
        if program.name == "__init__.py":
            continue
        with opened(str(program)) as given:
            for plan in load(given, LoadOptions()):
                VALIDATOR.validate(plain(plan))


@pytest.mark.parametrize("missing", ["format", "flink", "error"])
def test_what_is_no_plan_is_told(missing: str) -> None:
    plan = plain(plan_of({"ops": []}, "2.3", {}))
    del plan[missing]

    assert not VALIDATOR.is_valid(plan)
