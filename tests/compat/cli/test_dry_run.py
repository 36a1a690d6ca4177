"""``compat check SNAPSHOT NEW --dry-run``: the restore on real state, into a table that is thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.compiler.datastream.program import Program, start
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.task.epochs import InProcessRunner
from tests.repositories import committed

PROGRAM = """
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.TYPE))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update(VALUE)
        self.seen.put(value, value)
        yield str(value)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(PARALLELISM)
numbers = env.from_source(NumberSequenceSource(1, 60), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
counted = numbers.key_by(lambda n: n % 3, Types.LONG()).process(Count(), Types.STRING()).uid("UID").name("count")
counted.print()
env.execute("counting")
"""


ROW = "ROW_NAMED(['a'], [Types.LONG()])"
WIDER = "ROW_NAMED(['a', 'b'], [Types.LONG(), Types.STRING()])"


def program(name: str, **changes: str) -> str:
    text = PROGRAM
    for word, value in {"TYPE": ROW, "VALUE": "Row(7)", "PARALLELISM": "2", "UID": "count", **changes}.items():
        text = text.replace(word, value)
    Path(name).write_text(text)
    return name


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A savepoint after forty of sixty numbers: three keys, each with a count, and forty entries of a map."""
    folder = tmp_path_factory.mktemp("dry")
    before = sys.modules["__main__"], list(sys.path), list(sys.argv), list(sys.meta_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(SparkExecutor, "runner", lambda self, made: InProcessRunner(made))
        patch.setattr(Spark, "start_early", lambda self: None)  # no JVM is wanted
        patch.setattr(SparkExecutor, "check", lambda self: None)
        result = CliRunner().invoke(main, ["run", program("old.py"), "--epochs", "2", "--epoch-records", "20"])
        assert result.exit_code == 0, result.output
        yield str(folder / result.stdout.splitlines()[-1])
    sys.modules["__main__"], sys.path[:], sys.argv[:], sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyflink"]:
        del sys.modules[name]
    start(Program())


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def dry_run(snapshot: str, new: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["check", snapshot, new, "--dry-run", *options])


def test_state_that_is_restored_is_counted(snapshot: str) -> None:
    result = dry_run(snapshot, program("new.py", PARALLELISM="3"), "--output", "json")
    assert result.exit_code == 0, result.output
    notes = json.loads(result.output)["notes"]
    assert "dry run: 'count' (uid 'count'): 3 keys in 43 entries restored" in notes
    assert any(note.startswith("dry run: 'Source: numbers' (uid 'numbers'): ") for note in notes)
    assert not any("MISSING" in note for note in notes)
    assert os.listdir() == ["new.py"]


def test_values_that_are_converted_are_counted(snapshot: str) -> None:
    result = dry_run(snapshot, program("new.py", TYPE=WIDER, VALUE="Row(7, 'x')"))
    assert result.exit_code == 0, result.output
    assert "3 keys in 43 entries restored, 3 of them migrated" in " ".join(result.output.split())


def test_state_that_nobody_takes_is_counted_as_dropped(snapshot: str) -> None:
    result = dry_run(snapshot, program("new.py", UID="other"), "-n")
    assert result.exit_code == 0, result.output
    assert "'count' (uid 'count'): 3 keys in 43 entries dropped" in " ".join(result.output.split())


def test_every_old_is_restored(snapshot: str) -> None:
    result = dry_run(snapshot, program("new.py"), "--also", snapshot, "--output", "json")
    assert result.exit_code == 0, result.output
    reports = json.loads(result.stdout)["reports"]
    assert [sum(note.startswith("dry run: ") for note in report["notes"]) > 0 for report in reports] == [True, True]


def test_what_the_check_refuses_is_not_restored(snapshot: str) -> None:
    result = dry_run(snapshot, program("new.py", UID="other"))
    assert result.exit_code == 1
    assert "dry run: not made" in result.output


def test_a_restore_that_fails_is_no_success(snapshot: str, tmp_path: Path) -> None:
    """The plan beside the state says one thing, the state another: only the restore itself can tell."""
    broken = tmp_path / "broken"
    (broken / "_delta_log").mkdir(parents=True)
    for name in ("plan.json", "_savepoint.json"):
        (broken / name).write_bytes((Path(snapshot) / name).read_bytes())
    result = dry_run(str(broken), program("new.py"))
    assert result.exit_code == 2
    assert "The dry run of the restore failed" in result.output


def test_only_snapshots_of_jobs_on_spark_can_be_restored() -> None:
    result = dry_run(program("old.py"), program("new.py"))
    assert result.exit_code == 2
    assert "--dry-run restores a snapshot of a job on Spark" in " ".join(result.output.split())


def test_only_the_job_that_was_asked_for_is_restored_into(snapshot: str) -> None:
    """The second job has no place for the state, and the first one none that is checked."""
    text = Path(program("new.py")).read_text()
    Path("two.py").write_text(text.replace('uid("count")', 'uid("other")') + text)
    assert dry_run(snapshot, "two.py", "--job", "0").exit_code == 1
    result = dry_run(snapshot, "two.py", "--job", "1", "--output", "json")
    assert result.exit_code == 0, result.output
    assert "dry run: 'count' (uid 'count'): 3 keys in 43 entries restored" in json.loads(result.output)["notes"]


def test_a_program_at_a_revision_is_restored_into(snapshot: str) -> None:
    program("new.py")
    committed()
    result = dry_run(snapshot, "git:HEAD:new.py")
    assert result.exit_code == 0, result.output
    assert "3 keys in 43 entries restored" in " ".join(result.output.split())


@pytest.mark.parametrize(("name", "kind"), [("job.json", "topology"), ("job.plan.json", "plan")])
def test_what_is_no_program_cannot_be_restored_into(snapshot: str, name: str, kind: str) -> None:
    Path("job.json").write_text(json.dumps({"env": {}, "ops": [{"id": "s", "kind": "source", "uid": "numbers"}]}))
    assert CliRunner().invoke(main, ["plan", program("new.py"), "-o", "job.plan.json"]).exit_code == 0
    result = dry_run(snapshot, name, "-n")
    assert result.exit_code == 2, result.output
    assert f"--dry-run restores into a program, and {name} is a {kind}" in " ".join(result.output.split())


def test_the_version_of_flink_counts(snapshot: str) -> None:
    """Loops ended with Flink 1.20: the checked graph and the one that is restored into are of one version."""
    path = Path(program("new.py"))
    loop = "loop = numbers.iterate()\nloop.close_with(loop.filter(lambda n: n < 0))\nenv.execute"
    path.write_text(path.read_text().replace("env.execute", loop))
    result = dry_run(snapshot, "new.py", "--flink", "1.20")
    assert result.exit_code == 0, result.output
    assert "3 keys in 43 entries restored" in " ".join(result.output.split())


def test_entries_that_are_missing_are_no_success(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"name": "count", "uid": "count", "old_id": "a", "new_id": "a", "keys": 3, "entries": 43, "migrated": 0}

    def run(command: list[str], **_: object) -> None:
        Path(command[-1], "result.json").write_text(json.dumps({"jobs": [[{**state, "restored": 40}]]}))

    monkeypatch.setattr("compat.execution.dry_run.subprocess.run", run)
    result = dry_run(snapshot, program("new.py"))
    assert result.exit_code == 2, result.output
    assert "3 entries are MISSING" in " ".join(result.output.split())


def test_options_are_not_on_the_command_line_of_a_process(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    run = subprocess.run

    def watched(command: list[str], **options: Any) -> Any:
        seen.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", watched)
    result = dry_run(snapshot, program("new.py"), "-D", "spark.hadoop.fs.s3a.secret.key=hunter2")
    assert result.exit_code == 0, result.output
    assert any("compat.execution.dry_run" in part for command in seen for part in command)
    assert not any("hunter2" in part for command in seen for part in command)
