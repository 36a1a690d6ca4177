"""Every recorded topology gives what real Flink made of it: ids, StreamGraph, JobGraph, Flink's own plan, errors."""

import gzip
import json
import re
from pathlib import Path

import pytest

from compat.loader.topology import plan_of
from compat.plan.writing import plain

GOLDEN = Path(__file__).parents[2] / "golden" / "topologies"

STARTED_BY_NOBODY = ("max_parallelism_below_parallelism",)
"""Topologies that Flink builds, as far as these records go, and does not start."""


def cases():
    for flink in ("2.3", "1.20"):
        with gzip.open(GOLDEN / f"flink-{flink}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                case = json.loads(line)
                yield pytest.param(flink, case, id=f"{flink}-{case['name']}")


def snake(value):
    """Keys in snake case; keys of ids and labels as they are."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if isinstance(value, dict):
        return {re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower(): snake(item) for key, item in value.items()}
    return value


def only(actual, expected):
    """``actual`` reduced to the fields that ``expected`` has."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {key: only(actual.get(key), item) for key, item in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(actual) == len(expected):
        return [only(one, other) for one, other in zip(actual, expected, strict=True)]
    return actual


@pytest.mark.parametrize(("flink", "case"), list(cases()))
def test_equals_flink(flink, case):
    expected = case["expected"]
    plan = plain(plan_of(case["spec"], flink, {}))
    error = expected["error"]
    if error is None:
        beyond = case["name"] in STARTED_BY_NOBODY
        assert (plan["error"] and plan["error"]["stage"]) == ("executionGraph" if beyond else None)
    else:
        assert {key: plan["error"][key] for key in ("stage", "op", "class", "message")} == {
            key: error[key] for key in ("stage", "op", "class", "message")
        }
    for ours, theirs in (("stream_graph", "streamGraph"), ("job_graph", "jobGraph")):
        if theirs in expected:
            wanted = snake(expected[theirs])
            assert only(plan[ours], wanted) == wanted
    for ours, theirs in (("hashes", "hashes"), ("user_hashes", "userHashes"), ("transformations", "transformations")):
        if theirs in expected:
            assert plan[ours] == expected[theirs]
    if "streamPlan" in expected:
        assert plan["stream_plan"] == expected["streamPlan"]
