"""The checkpoint settings of jobs, against those that Flink settled; see ``tests/golden/checkpoint_settings``."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from compat.compiler import datastream
from compat.compiler.datastream.common import Configuration
from compat.compiler.datastream.program import Program, running
from compat.compiler.errors import FlinkError
from compat.compiler.jobgraph.generator import generate as generate_job_graph
from compat.compiler.streamgraph.generator import generate as generate_stream_graph

RECORDED = Path(__file__).parents[2] / "golden" / "checkpoint_settings" / "settings.json"
CASES: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
SHORTEST = "Checkpoint interval must be larger"
"""Flink refuses an interval below 10 ms as an option, too; here such a job takes its checkpoints that often, or none for 0."""


class _Taking:
    """Takes jobs, and keeps how they take checkpoints."""

    settings: dict[str, Any]

    def submit(self, job: Any) -> object:
        found = asdict(generate_job_graph(generate_stream_graph(job)).checkpointing)
        self.settings = {key: value.value if isinstance(value, Enum) else value for key, value in found.items()}
        return datastream.common.JobClient()


def _settled(options: dict[str, str], calls: list[list[Any]]) -> dict[str, Any]:
    """The settings of a program with the options and calls."""
    taking, configuration = _Taking(), Configuration()
    for key, text in options.items():
        configuration.set_string(key, text)
    with running(Program(taking, planning=True)):
        environment = datastream.StreamExecutionEnvironment.get_execution_environment(configuration)
        for name, *given in calls:
            of, _, method = name.rpartition(".")
            getattr(environment.get_checkpoint_config() if of else environment, method)(*map(_value, given))
        environment.from_collection([1]).print()
        environment.execute()
    return taking.settings


def _value(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    name, _, member = given.partition(".")
    return getattr(datastream, name)[member]


@pytest.mark.parametrize("case", [case for case in CASES if "settings" in case], ids=str)
def test_checkpoints_are_taken_as_in_flink(case: dict[str, Any]) -> None:
    assert _settled(case["options"], case["calls"]) == case["settings"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "refused" in case and SHORTEST not in case["refused"]], ids=str
)
def test_settings_that_flink_refuses_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(FlinkError) as refused:
        _settled(case["options"], case["calls"])
    assert case["refused"] in str(refused.value)
