"""The steps from a job to its graphs, and that they are taken once."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.compiler import driver
from compat.compiler.datastream.common.typeinfo import Types
from compat.compiler.datastream.program import Program, start
from compat.compiler.driver import compile_apart, compile_job
from compat.compiler.errors import ErrorCode, ProgramError
from compat.compiler.job import Job
from compat.compiler.topology.build import build_job
from compat.execution.snapshots import plan_of
from tests.compiler.spark.conftest import Cluster

SOURCE = {"id": "a", "kind": "source", "uid": "u"}


def job(uid: str) -> Job:
    """A source with the uid ``u``, a function with this one, and a sink."""
    function = {"id": "b", "kind": "map", "inputs": ["a"], "uid": uid}
    return build_job({"ops": [SOURCE, function, {"id": "c", "kind": "sink", "inputs": ["b"], "uid": "out"}]})


def test_a_job_gets_all_graphs() -> None:
    made = compile_job(job("v")).or_refuse()
    assert made.stream_graph is not None
    assert set(made.hashes) == set(made.stream_graph.nodes)
    assert made.job_graph is not None
    assert made.execution_graph is not None


def test_a_refusal_keeps_what_was_made_before_it() -> None:
    made = compile_job(job("u"))
    assert made.stream_graph is not None
    assert made.job_graph is None
    with pytest.raises(ProgramError) as refused:
        made.or_refuse()
    assert refused.value is made.error
    assert (refused.value.code, refused.value.value) == (ErrorCode.DUPLICATE_UID, "u")


def test_uids_can_be_told_apart() -> None:
    made, shared = compile_apart(job("u"))
    assert made.or_refuse().job_graph is not None
    assert sorted(shared.values()) == ["u", "u"]


def test_a_run_compiles_its_job_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    generate = driver.generate_stream_graph
    monkeypatch.setattr(driver, "generate_stream_graph", lambda job: compiled.append(job) or generate(job))
    cluster = Cluster(tmp_path)
    env = cluster.environment(1, epochs=1, plan_of=plan_of("job.py"))
    try:
        env.from_collection([1, 2, 3], Types.LONG()).print()
        env.execute("numbers")
    finally:
        start(Program())
    assert len(compiled) == 1
