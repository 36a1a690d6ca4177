"""What the process that holds a JVM makes of time: when it is up, and what is said then. A script stands for the JVM."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from compat.loader.jvm import process
from compat.loader.jvm.distribution import FlinkDistribution
from compat.loader.jvm.java import Java
from compat.loader.jvm.messages import Crash, Ended, JarProgram, JavaFrame, Stuck
from compat.loader.jvm.process import JvmOptions, JvmOutcome, JvmProcess, Setup

STARTS, RUNS = 0.5, 2.7
CHILD = """
import os, sys, time
out = int(sys.argv[2].split(",")[0])
sys.stdin.readline()
time.sleep({starts})
sys.stdin.readline()
time.sleep({runs})
os.write(out, {said!r})
time.sleep(600)
"""
STUCK = Stuck(frames=(JavaFrame(method="main", file="Job.java", line=7),))
TIMED_OUT = JvmOutcome(jobs=(), timed_out=True, stuck=STUCK.frames)
ENDED = Ended(crash=Crash(type="ProcessEnded", message="It ended with code -9."))


def outcomes_of(monkeypatch: pytest.MonkeyPatch, *said: Stuck | Ended) -> list[JvmOutcome | None]:
    """The outcomes of two programs for a JVM that starts slowly, and says something when the time of the first is up."""
    text = b"".join(msgspec.json.encode(message) + b"\n" for message in said)
    monkeypatch.setattr(process, "_START", CHILD.format(starts=STARTS, runs=RUNS, said=text))
    monkeypatch.setattr(process, "_STARTING", 3.0)
    monkeypatch.setattr(process, "_MARGIN", 0.1)
    java = Java(home=Path("/nowhere"), library=Path("/nowhere/libjvm.so"), major=11)
    flink = FlinkDistribution(jars=(), version="2.3.0")
    with JvmProcess(Setup(flink, java, JvmOptions(options={}, timeout=RUNS))) as jvm:
        first, second = (jvm.build(JarProgram(path=path)) for path in ("job.jar", "other.jar"))
        outcome = first.outcome()
        jvm.end()
        return [outcome, second.outcome()]


def test_what_the_start_takes_is_not_the_programs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcomes_of(monkeypatch, STUCK) == [TIMED_OUT, None]


def test_a_program_whose_time_was_up_did_not_end_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcomes_of(monkeypatch, STUCK, ENDED) == [TIMED_OUT, None], "the second was not begun"
