"""How long a job takes to its first record: on a cluster that is up, and as a run of its own.

Submits a keyed count to a warm cluster several times, and runs it with ``compat job run`` beside that, in turn. Prints medians:
seconds by the clock to the first committed epoch, and seconds that the processors spent on a job from its start to its end.

    python tests/benchmarks/bench_cluster.py --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.compat.cluster.jobs import small_program

ROOT = Path(__file__).parents[2]
_MARK = "BENCH_CLUSTER"
"""In the environment of all processes of the cluster."""
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="bench-cluster-") as folder:
        (Path(folder) / "job.py").write_text(small_program(100, parallelism=2))
        dispatcher = subprocess.Popen(
            [*_compat("cluster", "start", "--dir", f"{folder}/cluster", "--slots", "2", "--port", "0")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**_environment(), _MARK: folder},
            text=True,
        )
        try:
            assert dispatcher.stdout is not None
            url = dispatcher.stdout.readline().strip()
            _run(folder, "--cluster", url)  # Spark is up, and the JVM has seen a job
            _run(folder, "--cluster", url)
            found: dict[str, list[float]] = {}
            for _ in range(rounds):
                began = _processor_seconds(folder)
                first, own = _run(folder, "--cluster", url)
                _note(found, "a warm cluster: submission to first epoch, s", _since_submission(url))
                _note(found, "a warm cluster: call to first epoch, s", first)
                _note(found, "a warm cluster: processors, client, s", own)
                _note(found, "a warm cluster: processors, cluster, s", _processor_seconds(folder) - began)
                first, own = _run(folder, "--store", f"{folder}/store", "--fresh")
                _note(found, "a run of its own: call to first epoch, s", first)
                _note(found, "a run of its own: processors, s", own)
        finally:
            subprocess.run(_compat("cluster", "stop", "--dir", f"{folder}/cluster"), env=_environment(), check=False)
            dispatcher.wait(60)
    for name, values in found.items():
        print(f"{name:<52}{statistics.median(values):8.3f}   {min(values):.3f} to {max(values):.3f}")


def _run(folder: str, *arguments: str) -> tuple[float, float]:
    """Run the job; gives the seconds to its first epoch, and those of the processors of the command and what it started."""
    before = os.times()
    began = time.perf_counter()
    process = subprocess.Popen(
        _compat("run", "job.py", "--output", "json", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=_environment(),
        text=True,
    )
    first = 0.0
    assert process.stdout is not None
    for line in process.stdout:
        if not first and json.loads(line)["event"] == "checkpoint":
            first = time.perf_counter() - began
    said = process.communicate()[1]
    assert process.returncode == 0, said
    after = os.times()
    return first, after.children_user + after.children_system - before.children_user - before.children_system


def _since_submission(url: str) -> float:
    """The seconds from the submission of the last job to its first epoch, as the cluster itself saw them."""
    from compat.transport import call

    job = call(url, "/jobs/overview", dict)["jobs"][0]
    found = call(url, f"/jobs/{job['jid']}/checkpoints", dict)["history"]
    return float(min(each["trigger_timestamp"] for each in found) - job["start-time"]) / 1000


def _processor_seconds(folder: str) -> float:
    """The seconds that all processes of the cluster in a folder took until now, with those of their children that ended."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{_MARK}={folder}".encode() in (entry / "environ").read_bytes():
                total += sum(map(int, (entry / "stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            continue
    return total / _TICKS


def _note(found: dict[str, list[float]], name: str, value: float) -> None:
    found.setdefault(name, []).append(value)


def _compat(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "compat", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
