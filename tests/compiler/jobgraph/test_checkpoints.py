"""The checkpoint settings of jobs, against those that Flink settled; see ``tests/golden/checkpoint_settings``."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from compat.compiler import datastream
from compat.compiler.configuration import CHECKPOINT_INTERVAL
from compat.compiler.datastream.common import Configuration
from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment as Environment
from compat.compiler.errors import FlinkError
from compat.compiler.jobgraph.generator import generate as generate_job_graph
from compat.compiler.streamgraph.generator import generate as generate_stream_graph
from compat.compiler.versions import FLINK_VERSIONS

RECORDED = Path(__file__).parents[2] / "golden" / "checkpoint_settings" / "settings.json"
CASES: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("case", [case for case in CASES if "refused" in case], ids=str)
def test_settings_that_flink_refuses_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(FlinkError) as refused:
        _settled(case["options"], case["calls"])
    assert case["refused"] in str(refused.value)


TOO_OFTEN = "Checkpoint interval must be larger than or equal to 10 ms"


@pytest.mark.parametrize("text", ["0", "9 ms", "-1"])
@pytest.mark.parametrize("flink", FLINK_VERSIONS)
def test_no_environment_has_an_interval_that_is_too_short(text: str, flink: str) -> None:
    """Also where the program sets a longer one later."""
    short = Configuration()
    short.set_string(CHECKPOINT_INTERVAL, text)
    with running(Program(options={CHECKPOINT_INTERVAL: text}, flink=flink)), pytest.raises(FlinkError, match=TOO_OFTEN):
        Environment.get_execution_environment().enable_checkpointing(1000)
    with running(Program(flink=flink)), pytest.raises(FlinkError, match=TOO_OFTEN) as refused:
        Environment.get_execution_environment().configure(short)
    assert CHECKPOINT_INTERVAL in str(refused.value)
    assert refused.value.location is not None
    assert refused.value.location.file == __file__
