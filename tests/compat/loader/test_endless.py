"""Programs that wait without end behind their jobs are judged by these."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.inputs import note_on_endless
from compat.loader.process import TimedOut, load_one
from compat.loader.request import Loaded, Request

BEGUN = """
import time
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(lambda one: one).uid("a").print()
"""
WATCHED = """
client = env.execute_async("first")
for _ in range(20):
    time.sleep(1)
env.from_collection([1]).map(lambda one: one).uid("b").print()
client = env.execute_async("second")
while True:
    try:
        time.sleep(30)
        client.get_job_status()
    except Exception:
        pass
"""


def loaded(folder: Path, text: str) -> Loaded | TimedOut:
    job = folder / "job.py"
    job.write_text(text)
    return load_one(Request(path=str(job), shown="job.py"), timeout=15)


def test_a_loop_behind_the_last_job_ends_the_program(tmp_path: Path) -> None:
    found = loaded(tmp_path, BEGUN + WATCHED)
    assert isinstance(found, Loaded)
    assert [plan.job_name for plan in found.plans] == ["first", "second"]
    assert (found.crash, found.endless) == (None, "job.py:14")
    assert note_on_endless(found.endless) == (
        "The program waits at job.py:14 until its job ends; what comes behind that is not judged.",
    )


def test_a_program_that_ends_is_told_nothing_of(tmp_path: Path) -> None:
    found = loaded(tmp_path, f"{BEGUN}env.execute()\ntime.sleep(3)\n")
    assert isinstance(found, Loaded)
    assert (len(found.plans), found.endless, note_on_endless("")) == (1, "", ())


@pytest.mark.parametrize("wait", ["while True:\n    time.sleep(0.01)\n"])
def test_a_wait_before_any_job_is_none_for_it(tmp_path: Path, wait: str) -> None:
    found = loaded(tmp_path, f"{BEGUN}{wait}env.execute()\n")
    assert isinstance(found, TimedOut)
