"""Random programs give what they give in PyFlink, in process and in thread mode: a job of the night.

It needs an interpreter that has PyFlink: ``COMPAT_PYFLINK=PYTHON pytest -m nightly``. Each night has other programs, whose
seeds begin at ``COMPAT_SEED``, by default the day; ``COMPAT_PROGRAMS`` of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.compiler.spark.random_programs import STEPS, random_program
from tests.needs import Need

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("run_programs.py")
OURS = """
import sys
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.options import RunOptions
from compat.loader.main_module import layout_of, prepare, run_as_main
script, out, store, records = sys.argv[1:]
options = RunOptions(replicas=store + "/replicas", epoch_records=int(records) or None)
prepare(InProcessExecutor(store, options=options), {})
run_as_main(layout_of(script), [out])
"""

_WITHOUT_TIME = "Long.MIN_VALUE timestamp"


def seeds() -> range:
    """Those of tonight."""
    first = int(os.environ.get("COMPAT_SEED", time.time() // 86400 * 1000))
    return range(first, first + int(os.environ.get("COMPAT_PROGRAMS", "12")))


@pytest.fixture(scope="module")
def pyflink() -> str:
    """The interpreter with PyFlink."""
    python = os.environ.get("COMPAT_PYFLINK", sys.executable)
    code = "import importlib.metadata as m; print(m.version('apache-flink'))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError as error:
        pytest.fail(f"COMPAT_PYFLINK={python} does not run: {error}")
    if done.returncode:
        needs.without(Need.PYFLINK, python)
    return python


def call(
    command: list[str], out: Path, programs: list[str], options: dict[str, str], jar: str = "", **environment: str
) -> list[Any]:
    given = json.dumps({"programs": programs, "options": options, "jar": jar})
    done = subprocess.run(command, input=given, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    found: list[Any] = json.loads(out.read_text())
    return found


def run_here(programs: list[str], folder: Path, epoch_records: int = 0) -> list[Any]:
    """The results here, without Spark; 0 for as many records an epoch as there are."""
    out = folder / f"ours-{epoch_records}.json"
    command = [
        sys.executable,
        "-c",
        OURS,
        str(SCRIPT),
        str(out),
        str(folder / f"store-{epoch_records}"),
        str(epoch_records),
    ]
    return call(command, out, programs, {}, PYTHONPATH=str(ROOT))


def run_there(python: str, programs: list[str], folder: Path, mode: str, jar: str = "") -> list[Any]:
    """The results in PyFlink; with a ``jar`` of theirs, the programs see each watermark behind the record that it follows."""
    options = {"python.execution-mode": mode, "python.executable": python, "python.client.executable": python}
    if jar:
        options["python.fn-execution.bundle.size"] = "1"
    out, path = folder / f"{mode}.json", os.pathsep.join([os.path.dirname(python), os.environ.get("PATH", "")])
    return call([python, str(SCRIPT), str(out)], out, programs, options, jar, PATH=path, PYTHONPATH="")


def _untimely(mode: str, program: str, there: Any) -> bool:
    """Whether PyFlink failed since records of side outputs have no timestamps in thread mode, which windows ask for."""
    return mode == "thread" and "get_side_output" in program and isinstance(there, str) and _WITHOUT_TIME in there


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["process", "thread"])
def test_random_programs_give_what_they_give_in_pyflink(pyflink: str, tmp_path: Path, mode: str) -> None:
    programs = [random_program(seed) for seed in seeds()]
    ours, theirs = run_here(programs, tmp_path), run_there(pyflink, programs, tmp_path, mode)
    differ = [
        f"COMPAT_SEED={seed} COMPAT_PROGRAMS=1:\n{program}\nhere: {here}\nin PyFlink: {there}"
        for seed, program, here, there in zip(seeds(), programs, ours, theirs, strict=True)
        if isinstance(here, str) or (here != there and not _untimely(mode, program, there))
    ]
    assert not differ, "\n\n".join(differ)


def test_the_programs_of_a_night_differ_and_run(tmp_path: Path) -> None:
    """Each step is in some program, the same seed gives the same program, and epochs of any size give the same results."""
    programs = [random_program(seed) for seed in range(40)]
    assert programs == [random_program(seed) for seed in range(40)]
    assert len(set(programs)) == 40
    for step in STEPS.values():
        assert any(step.partition("{")[0] in program for program in programs), step
    whole, small = run_here(programs[:15], tmp_path), run_here(programs[:15], tmp_path, 7)
    assert [each for each in whole if isinstance(each, str)] == []
    assert whole == small
    assert sum(map(bool, whole)) > 10
