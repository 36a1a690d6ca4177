"""The schema of topologies takes what the reader takes, and refuses what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compat import schemas
from compat.compiler.errors import ProgramError
from compat.compiler.topology.build import build_job
from compat.compiler.topology.parse import parse_entries, parse_settings

GOLDEN = Path(__file__).parents[2] / "golden" / "topologies"
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("topology"))

SOURCE = {"id": "a", "kind": "source"}


def spec(*entries: Any, **fields: Any) -> dict[str, Any]:
    return {"ops": [SOURCE, *entries], **fields}


def after(kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": "b", "kind": kind, "inputs": ["a"], **fields}


TAKEN = [
    spec(),
    spec(after("map", name="m", uid=None, parallelism=3, about=["anything"])),
    spec(after("key_by", name=None), env=None),
    spec(after("sink", topology="full"), env={"config": {"a": 1}, "parallelism": None, "unknown": 1}),
    spec({"id": "b", "kind": "union", "inputs": ["a", "a", "a"]}),
    spec({"id": "b", "kind": "source", "inputs": None}, name=7, about="anything", plan=True),
]

REFUSED = [
    {},
    {"ops": None},
    {"ops": [1]},
    {"ops": [{"kind": "source"}]},
    {"ops": [{"id": "", "kind": "source"}]},
    {"ops": [{"id": 1, "kind": "source"}]},
    {"ops": [{"id": "a"}]},
    spec(after("mapp")),
    spec({"id": "b", "kind": "map"}),
    spec({"id": "b", "kind": "map", "inputs": None}),
    spec({"id": "b", "kind": "map", "inputs": "a"}),
    spec({"id": "b", "kind": "map", "inputs": ["a", "a"]}),
    spec({"id": "b", "kind": "map", "inputs": [1]}),
    spec({"id": "b", "kind": "source", "inputs": ["a"]}),
    spec({"id": "b", "kind": "union", "inputs": []}),
    spec(after("map", nmae="m")),
    spec(after("map", name=1)),
    spec(after("map", parallelism=True)),
    spec(after("map", parallelism=2**31)),
    spec(after("map", parallelism="2")),
    spec(after("map", states="count")),
    spec(after("key_by", name="k")),
    spec(after("sink", topology="half")),
    spec(after("map", chaining="sometimes")),
    spec(env=1),
    spec(env={"parallelism": "2"}),
    spec(env={"chaining": 1}),
    spec(env={"config": ["a"]}),
]


def is_read(topology: dict[str, Any]) -> bool:
    try:
        parse_settings(topology, "2.3", {})
        parse_entries(topology, {})
        build_job(topology)
    except ProgramError:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("topology", TAKEN)
def test_what_is_taken(topology: dict[str, Any]) -> None:
    assert is_read(topology)
    VALIDATOR.validate(topology)


@pytest.mark.parametrize("topology", REFUSED)
def test_what_is_refused(topology: dict[str, Any]) -> None:
    assert not is_read(topology)
    assert not VALIDATOR.is_valid(topology)


@pytest.mark.parametrize("flink", ["2.3", "1.20"])
def test_golden_topologies(flink: str) -> None:
    """All but those of more than 200 calls, which take long to validate."""
    with gzip.open(GOLDEN / f"flink-{flink}.jsonl.gz", "rt", encoding="utf-8") as file:
        cases = [json.loads(line)["spec"] for line in file]
    for case in cases:
        if len(case["ops"]) <= 200:
            VALIDATOR.validate(case)
