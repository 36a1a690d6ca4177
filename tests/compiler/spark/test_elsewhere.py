"""On machines that have Spark and nothing else, a job finds all that it needs: it is sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat.compiler.spark.driver.store import JobStore
from tests import needs
from tests.compiler.spark.crashes import verify_job, write_program
from tests.compiler.spark.standalone import StandaloneCluster, installation

ROOT = Path(__file__).parents[3]
END = 5_000


@pytest.mark.spark
@pytest.mark.slow
def test_a_worker_without_this_installation(tmp_path: Path) -> None:
    needs.hidden(tmp_path)
    (tmp_path / "spark").mkdir()
    (tmp_path / "temporary").mkdir()
    program = write_program(tmp_path, END)
    (tmp_path / "named.py").write_text("def same(number):\n    return number\n")
    text = program.read_text().replace("class Count", "import named\n\nclass Count")
    program.write_text(text.replace("lambda n: n %", "lambda n: named.same(n) %"))
    machine = StandaloneCluster(tmp_path, workers=1, hidden=installation(), spark=tmp_path / "spark")
    try:
        command = [
            sys.executable,
            "-m",
            "compat",
            "run",
            str(program),
            "--master",
            machine.url,
            "--epoch-records",
            "1000",
        ]
        done = subprocess.run(
            [*command, "--ship", "--replicas", str(tmp_path / "temporary" / "replicas")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
            capture_output=True,
            text=True,
            timeout=1200,
        )
        assert done.returncode == 0, done.stderr
        store = JobStore(tmp_path / ".compat")
        (job,) = store.jobs()
        verify_job(str(tmp_path), END, store, job.job_id)
    finally:
        machine.close()
