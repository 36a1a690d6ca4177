"""Whatever the epochs, the parallelism and the chaining: the results are those of plain Python."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compat.compiler.configuration import PYTHON_CHAINING
from compat.compiler.datastream import program as programs
from compat.compiler.datastream.common import Types, WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.spark.driver import runner
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.task.stowage import folder_for_buffers
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.programs import PROGRAMS, Events, Program

_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
_TIMES = st.integers(0, 2000)
_EVENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "", "é"]), _TIMES, st.integers(0, 40)), min_size=1, max_size=40
)
_SHAPES = st.fixed_dictionaries(
    {
        "parallelism": st.sampled_from([1, 2, 5]),
        "epoch_records": st.sampled_from([None, 1, 3, 7, 20]),
        "chained": st.booleans(),
        "merged": st.booleans(),
    }
)


def run(cluster: Any, program: Program, events: Events, shape: dict[str, Any]) -> list[Any]:
    flink = "1.20" if program.name == "iterated" else None  # Flink 2 has no iterations
    env = cluster.environment(shape["parallelism"], epoch_records=shape["epoch_records"], flink=flink)
    if not shape["chained"]:
        env.disable_operator_chaining()
    env.configuration.set_boolean(PYTHON_CHAINING, shape["merged"])
    return list(program.build(env, events).execute_and_collect())


def counted(records: Any) -> Counter[str]:
    return Counter(map(repr, records))


def distinct(events: Events) -> Events:
    """No two events of a key have the same time, where a program finds an event again by its time."""
    return list({(key, time): (key, time, number) for key, time, number in events}.values())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=_PHASES)
@given(events=_EVENTS, shape=_SHAPES)
def test_results_are_those_of_plain_python(
    cluster: Any, program: Program, events: Events, shape: dict[str, Any]
) -> None:
    events = distinct(events)
    assert counted(run(cluster, program, events, shape)) == counted(program.expected(events))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=_PHASES)
@given(events=_EVENTS, shape=_SHAPES)
def test_whatever_the_events(cluster: Any, program: Program, events: Events, shape: dict[str, Any]) -> None:
    events = distinct(events)
    assert counted(run(cluster, program, events, shape)) == counted(program.expected(events))


_ON_SPARK = ("every_state", "late_records", "keyed_broadcast", "side_outputs", "partitioned")


@pytest.mark.parametrize("names", [_ON_SPARK, pytest.param(None, marks=pytest.mark.slow)], ids=["sample", "all"])
def test_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...] | None) -> None:
    """The same on real Spark, in one session; many records stay in files of the machine's."""
    stowed: list[int] = []

    @contextmanager
    def watched(within: str) -> Iterator[str]:
        with folder_for_buffers(within) as folder:
            yield folder
            stowed.append(len(os.listdir(folder)))

    monkeypatch.setattr(runner, "folder_for_buffers", watched)
    cluster = Cluster(tmp_path, SparkExecutor)
    draw = random.Random(5)
    events = distinct([(draw.choice("abc"), draw.randrange(2000), draw.randrange(40)) for _ in range(60)])
    try:
        for program in PROGRAMS:
            if program.name == "iterated" or (names is not None and program.name not in names):
                continue
            shape = {"parallelism": 2, "epoch_records": 25, "chained": draw.random() < 0.5, "merged": True}
            assert counted(run(cluster, program, events, shape)) == counted(program.expected(events)), program.name
        assert not any(stowed)
        env = cluster.environment(2, epoch_records=20_000)
        pairs = env.from_source(NumberSequenceSource(0, 29_999), WatermarkStrategy.no_watermarks(), "numbers").map(
            lambda n: (f"key-{n % 7}", n), Types.TUPLE([Types.STRING(), Types.LONG()])
        )
        sums = pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).execute_and_collect()
        assert max(sums) == ("key-6", sum(range(6, 30_000, 7)))
        assert any(stowed)
        assert not list((tmp_path / "replicas").glob("*/stowage/*"))
    finally:
        if cluster.executor is not None:
            cluster.executor.close()
        programs.start(programs.Program())
