"""``compat job run`` and the commands for jobs: exit codes, first and last lines, events, restores. Epochs run in
this process."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from msgspec import yaml
from msgspec.structs import replace

from compat.cli import main
from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.served import serve
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.spark.driver import classes
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.execution.narration import Narrator, Progress
from compat.execution.program import Run, run_program
from compat.migration.recipe import read_recipe
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import write_rows

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("{state}", Types.LONG()))
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.inc()
        if value == {poison}:
            raise ValueError("bad record")
        yield "%d:%d" % (value % 3, count)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({parallelism})
numbers = env.from_source(NumberSequenceSource(1, {end}), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
counted = numbers.key_by(lambda n: n % 3, Types.LONG()).process(Count(), Types.STRING()).uid("{uid}").name("count")
counted.print()
env.execute("counting " + " ".join(sys.argv[1:]))
"""


def program(path: Path, **changes: Any) -> str:
    values = {"state": "count", "poison": -1, "parallelism": 2, "end": 90, "uid": "count", **changes}
    text = PROGRAM
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    path.write_text(text)
    return str(path)


@pytest.fixture
def compat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls commands in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(SparkExecutor, "runner", lambda self, made: InProcessRunner(made))
    monkeypatch.setattr(Spark, "start_early", lambda self: None)  # no JVM is wanted
    monkeypatch.setattr(SparkExecutor, "check", lambda self: None)
    before = sys.modules["__main__"], list(sys.path), list(sys.argv), list(sys.meta_path)

    def call(*arguments: str) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    yield call
    sys.modules["__main__"], sys.path[:], sys.argv[:], sys.meta_path[:] = before
    serve()  # our classes go by PyFlink's names from the first program on: what pickles them later looks for its modules
    start(Program())


def counts(text: str) -> dict[str, int]:
    """The last count of each key among printed lines."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        if ":" in line and line.partition("> ")[2]:
            key, count = line.partition("> ")[2].split(":")
            found[key] = max(found.get(key, 0), int(count))
    return found


def test_a_job_that_finishes(compat: Any, tmp_path: Path) -> None:
    result = compat("run", program(tmp_path / "job.py"), "--args", "all of it")
    assert result.exit_code == 0
    first, measured, last = result.stderr.splitlines()
    (entry,) = JobStore(".compat").jobs()
    assert measured == "count: seen 90"
    assert first == f"Job {entry.job_id} started (counting all of it)"
    assert last == f"Job {entry.job_id} finished: 90 records"
    assert counts(result.stdout) == {"0": 30, "1": 30, "2": 30}


def test_a_job_is_listed_as_its_log_says_that_it_ended(compat: Any) -> None:
    store = JobStore(".compat")
    entry = JobEntry(job_id="ab" * 16, name="counting", status="RESTARTING", pid=1)
    store.write(entry)
    log = SnapshotLog.create(store.state(entry.job_id))
    log.commit(1, [write_rows(log.path, [], 1)], {})
    assert "(INTERRUPTED, checkpoint 1)" in compat("list").stdout
    log.end("FINISHED", None)
    assert "No running jobs" in compat("list").stdout
    assert "(FINISHED, checkpoint 1)" in compat("list", "--all").stdout


def test_a_run_that_leaves_an_archive_to_be_made_says_so(
    compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where it ran Spark itself, and where one is made."""
    job, told = program(tmp_path / "job.py"), []
    for ran, made in ((True, True), (True, False), (False, True)):
        monkeypatch.setattr(SparkExecutor, "close", lambda self, ran=ran: setattr(self, "ran_here", ran))
        monkeypatch.setattr(classes, "make_later", lambda made=made: made)
        told.append("COMPAT_CLASS_ARCHIVE=off" in compat("run", job).stderr.splitlines()[-1])
    assert told == [True, False, False]


def test_events_as_json(compat: Any, tmp_path: Path) -> None:
    result = compat("run", program(tmp_path / "job.py"), "--output", "json", "--epochs", "2", "--epoch-records", "30")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["event"] for event in events] == ["started", "checkpoint", "checkpoint", "savepoint", "stopped"]
    assert len({event["job_id"] for event in events}) == 1
    assert [event["records"] for event in events[1:3]] == [30, 30]
    assert events[-1]["path"] == events[-2]["path"]
    assert {each["name"]: each["metrics"] for each in events[-1]["metrics"]} == {
        "Source: numbers": {"numRecordsIn": 60},
        "_stream_key_by_map_operator": {"numRecordsOut": 60},
        "count": {"numRecordsIn": 60, "seen": 60},
    }
    assert Path(events[-1]["path"]).is_dir()


def test_a_checkpoint_in_a_directory_of_its_own_is_checked_and_restored(compat: Any, tmp_path: Path) -> None:
    """It has all that a restore needs, and ``-s`` takes the path of Flink's layout, or the table itself."""
    job = program(tmp_path / "job.py")
    assert compat("run", job, "-D", "execution.checkpointing.dir=kept").exit_code == 0
    (place,) = (tmp_path / "kept").iterdir()
    shutil.rmtree(tmp_path / ".compat")
    for path in (place, place / "state"):
        restored = compat("run", program(tmp_path / "job.py", end=120), "-s", str(path), "--fresh")
        assert restored.exit_code == 0, restored.stderr
        assert "from checkpoint 1" in restored.stderr
    refused = compat("run", program(tmp_path / "job.py", uid="other"), "-s", str(place), "--fresh")
    assert refused.exit_code == 2
    assert "cannot restore" in refused.stderr


def test_a_program_that_does_not_wait_for_its_job(compat: Any, tmp_path: Path) -> None:
    """``execution.attached=false``: the program goes on, the command waits, and its exit code is the job's."""
    job = program(tmp_path / "job.py")
    Path(job).write_text(Path(job).read_text().replace("env.execute(", "result = env.execute(") + "\nprint(result)\n")
    done = compat("run", job, "-D", "execution.attached=false")
    assert done.exit_code == 0
    (entry,) = JobStore(".compat").jobs()
    assert f"Job {entry.job_id} was submitted in detached mode." in done.stdout
    assert counts(done.stdout) == {"0": 30, "1": 30, "2": 30}
    failed = compat("run", program(tmp_path / "bad.py", poison=50), "-D", "execution.attached=false")
    assert failed.exit_code == 1
    assert "ValueError: bad record" in failed.stderr


def test_stop_after_epochs_and_restore(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    first = compat("run", job, "--epochs", "2", "--epoch-records", "30")
    assert first.exit_code == 0
    path = first.stdout.splitlines()[-1]
    moved = str(tmp_path / "elsewhere")
    shutil.move(path, moved)
    shutil.rmtree(tmp_path / ".compat")
    rest = compat("run", program(tmp_path / "job.py", parallelism=3), "-s", moved)
    assert rest.exit_code == 0
    assert counts(rest.stdout) == {"0": 30, "1": 30, "2": 30}
    assert len((first.stdout + rest.stdout).splitlines()) == 90 + 1


def test_an_incompatible_savepoint_is_refused_with_the_whole_report(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    path = compat("run", job, "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    other = program(tmp_path / "other.py", uid="another")
    refused = compat("run", other, "-s", path)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("INCOMPATIBLE")
    assert "CMP102" in refused.stderr or "CMP101" in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith("Refused: ")
    assert refused.stdout == ""
    assert len(JobStore(".compat").jobs()) == 1
    skipped = compat("run", other, "-s", path, "-n")
    assert skipped.exit_code == 0
    assert counts(skipped.stdout) == {"0": 20, "1": 20, "2": 20}
    as_json = compat("run", other, "-s", path, "--output", "json")
    assert json.loads(as_json.stdout)["event"] == "failed"
    assert as_json.exit_code == 2


def test_a_recipe_moves_the_state_of_an_operator_with_another_uid(compat: Any, tmp_path: Path) -> None:
    """By the commands that reports tell: the check, the check that writes the recipe, and the run."""
    path = compat("run", program(tmp_path / "job.py"), "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    other = program(tmp_path / "other.py", uid="another")

    def told(result: Result) -> str:
        return next(line.partition("  or: ")[2] for line in result.stdout.splitlines() if line.startswith("  or: "))

    writes = told(compat("check", path, other, "-D", "parallelism.default=2"))
    runs = told(compat(*shlex.split(writes)[1:]))
    assert runs == (
        f"compat job run {shlex.quote(other)} -s {shlex.quote(path)} --recipe recipe.yaml -D parallelism.default=2"
    )
    done = compat(*shlex.split(runs)[1:])
    assert done.exit_code == 0, done.stderr
    assert counts(done.stdout) == {"0": 30, "1": 30, "2": 30}


COUNTED = """
from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

class Keep(KeyedProcessFunction):
    def open(self, context):
        self.last = {last}
        self.extra = context.get_state(ValueStateDescriptor("extra", Types.{extra}()))

    def process_element(self, value, ctx):
        yield f"{{ctx.get_current_key()!r}} {{{told}}} {{self.extra.value()}}"
        {keep}
        self.extra.update({made})

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_source(NumberSequenceSource(0, 59), WatermarkStrategy.no_watermarks(), "n").uid("n")
numbers.key_by(lambda n: {key}(n % 3), Types.{type}()).process(Keep(), Types.STRING()).uid("keep").print()
env.execute("kept")
"""
BEFORE = COUNTED.format(
    last='context.get_state(ValueStateDescriptor("last", Types.LONG()))',
    extra="PICKLED_BYTE_ARRAY",
    told="self.last.value()",
    keep="self.last.update(value)",
    made='{"n": value % 3}',
    key="int",
    type="LONG",
)
AFTER = COUNTED.format(
    last='context.get_list_state(ListStateDescriptor("last", Types.STRING()))',
    extra="STRING",
    told="list(self.last.get())",
    keep="self.last.add(str(value))",
    made="str(value)",
    key="str",
    type="STRING",
)


def test_a_recipe_gives_other_keys_another_kind_of_state_and_values_of_a_function(compat: Any, tmp_path: Path) -> None:
    """The check asks all three questions, and its answers are what the run does."""
    old, new, recipe = tmp_path / "old.py", tmp_path / "new.py", tmp_path / "recipe.yaml"
    old.write_text(BEFORE)
    new.write_text(AFTER)
    path = compat("run", str(old), "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    compat("check", path, str(new), "--write-recipe", str(recipe))
    (tmp_path / "functions.py").write_text("def convert(value):\n    return f'n={value[\"n\"]}'\n")
    assert read_recipe(str(recipe)).questions
    recipe.write_text(answered(recipe.read_text()))
    done = compat("run", str(new), "-s", path, "--recipe", str(recipe))
    assert done.exit_code == 0, done.stderr
    first: dict[str, str] = {}
    for line in done.stdout.splitlines():
        key, _, held = line.partition("> ")[2].partition(" ")
        first.setdefault(key, held)
    read = range(15), range(30, 45)
    last = {f"{key}": max(n for part in read for n in part if n % 3 == key) for key in range(3)}
    assert first == {f"'{key}'": f"['{n}'] n={key}" for key, n in last.items()}
    assert "6 migrated" in done.stderr


def answered(recipe: str) -> str:
    """A recipe with the first answer to each question, but of pickles, of which a function makes what is new."""
    commented = re.findall(r"(?m)^  #   (- step: convert-(?:key|state)\n(?:  #     .*\n)+)", recipe)
    steps = [yaml.decode(re.sub(r"(?m)^  #   ", "", each).encode())[0] for each in commented]
    chosen: dict[Any, Any] = {}
    for step in steps:
        chosen.setdefault(step.get("state"), step)
    return yaml.encode({"recipe": 1, "steps": list(chosen.values())}).decode()


def test_a_recipe_without_a_snapshot_or_that_is_none_is_refused(compat: Any, tmp_path: Path) -> None:
    job, recipe = program(tmp_path / "job.py"), tmp_path / "recipe.yaml"
    recipe.write_text("steps: []")
    assert "--recipe has no effect without -s" in compat("run", job, "--recipe", str(recipe)).stderr
    recipe.write_text("steps: [{step: nonsense}]")
    refused = compat("run", job, "-s", str(tmp_path), "--recipe", str(recipe))
    assert refused.exit_code == 2
    assert "no step is called 'nonsense'" in refused.stderr


def test_a_savepoint_of_flink_is_moved_before(compat: Any, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("steps: []")
    flink = str(ROOT / "tests" / "golden" / "savepoints_of_pairs" / "state_renamed")
    refused = compat("run", program(tmp_path / "job.py"), "-s", flink, "--recipe", str(recipe))
    assert refused.exit_code == 2
    assert "compat migrate moves its state by a recipe" in refused.stderr


def test_claiming_removes_the_savepoint_after_the_first_checkpoint(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    path = compat("run", job, "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    assert compat("run", job, "-s", path, "--epochs", "1").exit_code == 0
    assert Path(path).exists()
    assert compat("run", job, "-s", path, "-rm", "claim", "--epochs", "1").exit_code == 0
    assert not Path(path).exists()


def test_a_failing_program_says_where_and_on_what(compat: Any, tmp_path: Path) -> None:
    result = compat("run", program(tmp_path / "job.py", poison=7), "-p", "1")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[-1].endswith("failed: ValueError: bad record")
    assert any("The record: 7" in line for line in lines)
    assert any(f'File "{tmp_path}/job.py"' in line for line in lines)
    assert "compiler/spark" not in result.stderr
    (entry,) = JobStore(".compat").jobs()
    assert entry.status == "FAILED"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("pass", "submits no job"),
        ("import sys; sys.exit('no input')", "no input"),
        ("import pyflink.table", "Table"),
    ],
)
def test_a_program_that_starts_no_job_is_refused(compat: Any, tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "job.py").write_text(text)
    result = compat("run", "job.py")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Refused: ")
    assert expected in result.stderr


@pytest.mark.parametrize(
    ("path", "expected"),
    [("nowhere", "no such directory"), (".", "holds no savepoint"), ("flink", "this is not a savepoint's metadata")],
)
def test_what_is_no_snapshot_is_refused(compat: Any, tmp_path: Path, path: str, expected: str) -> None:
    (tmp_path / "flink").mkdir()
    (tmp_path / "flink" / "_metadata").write_bytes(b"")
    result = compat("run", program(tmp_path / "job.py"), "-s", path)
    assert (result.exit_code, expected in result.stderr.replace("There is no", "no").replace("It holds", "holds")) == (
        2,
        True,
    )


def test_an_unwritable_store_is_refused(compat: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = compat("run", program(tmp_path / "job.py"), "--store", "file/store")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_jobs_are_listed_and_their_state_is_shown(compat: Any, tmp_path: Path) -> None:
    assert "No running jobs" in compat("list").stdout
    path = compat("run", program(tmp_path / "job.py"), "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    (entry,) = json.loads(compat("list", "--all", "--format", "json").stdout)
    assert (entry["status"], entry["alive"], entry["records"]) == ("FINISHED", False, 30)
    assert entry["job_id"] in compat("list", "-a").stdout
    for what in (path, entry["job_id"], entry["job_id"][:8]):
        rows = json.loads(compat("state", what, "count", "--format", "json").stdout)
        assert {row["key"]: row["value"] for row in rows if row["state"] == "count"} == {0: 10, 1: 10, 2: 10}
    assert "count" in compat("state", path, "count").stdout
    unknown = compat("state", path, "nobody")
    assert unknown.exit_code == 2
    assert "count" in unknown.stderr


def test_state_as_a_table(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    path = compat("run", job, "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    query = 'select key, value from "count"."count" order by key'
    assert json.loads(compat("state", path, "--sql", query, "--format", "json").stdout) == [
        {"key": key, "value": 10} for key in range(3)
    ]
    assert "value" in compat("state", path, "--sql", query).stdout
    for form in ("parquet", "csv", "jsonl"):
        written = compat("state", path, "count", "--state", "count", "--output", f"{form}=state.{form}")
        assert written.stderr == f"3 rows in state.{form}\n"
    assert sorted(pq.read_table(tmp_path / "state.parquet")["value"].to_pylist()) == [10, 10, 10]
    assert len((tmp_path / "state.csv").read_text().splitlines()) == 4
    assert {json.loads(line)["key"] for line in (tmp_path / "state.jsonl").read_text().splitlines()} == {0, 1, 2}
    assert not list(tmp_path.glob("*.new"))


def test_two_snapshots_compared(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    path = compat("run", job, "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    later = compat("run", job, "-s", path, "--epochs", "1", "--epoch-records", "30", "--fresh").stdout.splitlines()[-1]
    told = compat("state", path, "count", "--diff", later)
    assert told.exit_code == 0
    assert "changed 1: 10 -> 20" in told.stdout
    (found,) = json.loads(
        compat("state", path, "count", "--state", "count", "--diff", later, "--format", "json").stdout
    )
    assert {name: found[name] for name in ("before", "after", "added", "removed", "changed")} == {
        "before": 3,
        "after": 3,
        "added": 0,
        "removed": 0,
        "changed": 3,
    }
    assert compat("state", path, "--diff", path).stdout.startswith("No entry differs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count", "--sql", "select 1"], "leave out OPERATOR"),
        (["count", "--on", "spark"], "--on spark is for a query: give one with --sql."),
        (["--diff", "x", "--checkpoint", "1"], "leave out --output and --checkpoint"),
        (["--output", "excel=x.xls"], "one of the formats parquet, csv, jsonl"),
        (["--sql", "select * from nothing"], "The tables are:"),
        (["count", "--state", "other"], "There is no state 'other'. There are: count"),
        (["--output", "csv=no/folder/x.csv"], "no/folder/x.csv cannot be written: No such file or directory"),
    ],
)
def test_what_state_cannot_do(compat: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    path = compat("run", program(tmp_path / "job.py"), "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    refused = compat("state", path, *arguments)
    assert refused.exit_code == 2
    assert message in " ".join(refused.stderr.split())


def test_check_and_inspect_read_a_savepoint(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    path = compat("run", job, "--epochs", "1", "--epoch-records", "30").stdout.splitlines()[-1]
    fits = compat("check", path, job)
    assert fits.exit_code == 0
    assert fits.stdout.splitlines()[-1] == f"Next: compat job run {shlex.quote(str(job))} -s {shlex.quote(path)}", (
        "Flink does not read it"
    )
    other = program(tmp_path / "other.py", state="renamed")
    result = compat("check", path, other)
    assert (result.exit_code, "CMP402" in result.output) == (1, True)
    assert compat("check", job, path).exit_code == 0
    described = json.loads(compat("inspect", path, "--format", "json").stdout)
    (count,) = [each for each in described["operators"] if each["uid"] == "count"]
    assert (count["parallelism"], count["max_parallelism"]) == (2, 128)
    assert [(state["name"], state["entries"]) for state in count["totals"]["states"]] == [("count", 3)]
    assert "uid=count" in compat("inspect", path).stdout
    (entry,) = JobStore(".compat").jobs()
    assert compat("check", f".compat/jobs/{entry.job_id}", job).exit_code == 0
    assert compat("inspect", f".compat/jobs/{entry.job_id}").exit_code == 0


@pytest.mark.parametrize("command", ["savepoint", "stop", "cancel"])
def test_commands_for_a_job_that_does_not_run(compat: Any, tmp_path: Path, command: str) -> None:
    missing = compat(command, "1234")
    assert (missing.exit_code, "no single job" in missing.stderr) == (2, True)
    compat("run", program(tmp_path / "job.py"))
    (entry,) = JobStore(".compat").jobs()
    ended = compat(command, entry.job_id)
    assert (ended.exit_code, "FINISHED" in ended.stderr) == (2, True)


class Recorder(Narrator):
    """Keeps what is said: the runner of commands cannot be used by two threads."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def printed(self, line: str) -> None:
        """Nobody reads it."""


def test_savepoint_stop_and_cancel_of_a_running_job(compat: Any, tmp_path: Path) -> None:
    run = Run(program=program(tmp_path / "job.py", end=10**9), epoch_records=30)
    for command, end, code in (("stop", "stopped with a savepoint", 0), ("cancel", "was cancelled", 1)):
        recorder, codes = Recorder(), []
        thread = threading.Thread(
            target=lambda run=run, told=recorder, codes=codes: codes.append(run_program(run, told))  # type: ignore[misc]
        )
        thread.start()
        job = _running().job_id
        taken = compat("savepoint", job[:8])
        assert (tmp_path / taken.stdout.splitlines()[-1] / "_savepoint.json").exists()
        ended = compat(command, job)
        assert ended.exit_code == 0
        thread.join(30)
        assert codes == [code]
        assert recorder.said[0].startswith(f"Job {job} started")
        assert recorder.said[-1] == f"Job {job} {end}"
        if command == "stop":
            run = replace(run, savepoint=ended.stdout.splitlines()[-1])


def _running(folder: Path = Path(".compat")) -> Any:
    store = JobStore(folder)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = [entry for entry in store.jobs() if entry.status == "RUNNING" and entry.epoch > 0]
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no job runs")


def test_commands_that_need_no_spark_import_none() -> None:
    code = (
        "import sys, compat.cli.check, compat.cli.run, compat.cli.jobs, compat.cli.inspect, compat.cli.demo, "
        "compat.compiler.spark.driver.store; print(*{'pyspark', 'pyarrow', 'deltalake', 'pandas', 'lmdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.spark
def test_plain_python_and_detached_runs_on_spark(tmp_path: Path) -> None:
    """The program as it is: with ``python``, then in the background with ``compat job run``, which stops when it is
    asked to."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    job = program(tmp_path / "job.py", end=10**9)
    text = Path(job).read_text()
    plain = tmp_path / "plain.py"
    logs = "import logging\nlogging.basicConfig(level=logging.INFO)\n"
    plain.write_text("import compat.pyflink\n" + logs + text.replace(str(10**9), "90"))

    def call(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400
        )

    done = call("plain.py")
    assert done.returncode == 0, done.stderr
    assert counts(done.stdout) == {"0": 30, "1": 30, "2": 30}
    assert "py4j" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith("finished: 90 records")
    begun = call("-m", "compat", "run", job, "-d", "--epoch-records", "100")
    assert begun.returncode == 0, begun.stderr
    job_id = begun.stdout.splitlines()[-1]
    assert begun.stderr.startswith(f"Job {job_id} started")
    _running(tmp_path / ".compat")
    stopped = call("-m", "compat", "stop", job_id)
    assert stopped.returncode == 0, stopped.stderr
    assert (Path(stopped.stdout.splitlines()[-1]) / "_savepoint.json").exists()
    refused = call("-m", "compat", "run", job, "-d", "-s", "nowhere")
    assert (refused.returncode, "Refused" in refused.stderr) == (2, True)


LOOP = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
loop = env.from_collection([1, 5, 9], Types.LONG()).iterate()
smaller = loop.map(lambda n: n - 1, Types.LONG())
loop.close_with(smaller.filter(lambda n: n > 0))
smaller.filter(lambda n: n <= 0).print()
env.execute("countdown")
"""


def test_a_loop_runs_as_flink_1_20_did(compat: Any, tmp_path: Path) -> None:
    job = tmp_path / "loop.py"
    job.write_text(LOOP)
    refused = compat("run", str(job))
    assert refused.exit_code == 2
    assert "--flink 1.20" in refused.stderr
    done = compat("run", str(job), "--flink", "1.20")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split() == ["0", "0", "0"]


def test_a_running_job_is_listed_with_its_tasks(compat: Any, tmp_path: Path) -> None:
    store = JobStore(tmp_path / "own")
    vertex = VertexStatus(
        id="v", name="Map", parallelism=3, status="RUNNING", attempt=1, since=0.0, tasks={"RUNNING": 2, "FINISHED": 1}
    )
    with closing(store.lock("job")):
        store.write(JobEntry(job_id="job", name="n", status="RUNNING", pid=1, epoch=4, vertices=[vertex]))
        shown = compat("list", "--store", str(tmp_path / "own")).stdout
        (entry,) = json.loads(compat("list", "--store", str(tmp_path / "own"), "--format", "json").stdout)

    assert shown.endswith(" : job : n (RUNNING, checkpoint 4, 2 running, 1 finished)\n")
    assert [(each["name"], each["attempt"], each["tasks"]) for each in entry["vertices"]] == [
        ("Map", 1, {"RUNNING": 2, "FINISHED": 1})
    ]


THREE_JOBS = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

class Listener:
    def on_job_submitted(self, client, error):
        print("submitted" if error is None else "refused")

    def on_job_executed(self, result, error):
        print("executed" if error is None else f"{result}:{type(error).__name__}")

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.register_job_listener(Listener())
for divisor in (1, 0, 2):
    env.from_collection([4], Types.INT()).map(lambda n, by=divisor: n // by, Types.INT()).print()
    try:
        env.execute(f"by {divisor}")
    except Exception as error:
        print("caught", type(error).__name__)
"""


def test_a_failure_that_the_program_caught_is_told_of_the_job_that_failed(compat: Any, tmp_path: Path) -> None:
    """The second of three jobs fails, and the program goes on: it ended well, and nobody is advised to restore the third."""
    (tmp_path / "job.py").write_text(THREE_JOBS)
    result = compat("run", str(tmp_path / "job.py"))
    heard = [["submitted", "4", "executed"], ["submitted", "None:JobFailed", "caught", "JobFailed"]]
    assert (result.exit_code, result.stdout.split()) == (0, [*heard[0], *heard[1], "submitted", "2", "executed"])
    by_name = {entry.name: entry for entry in JobStore(".compat").jobs()}
    assert {name: entry.status for name, entry in by_name.items()} == {
        "by 1": "FINISHED",
        "by 0": "FAILED",
        "by 2": "FINISHED",
    }
    (told,) = (line for line in result.stderr.splitlines() if "failed" in line)
    assert told.startswith(f"Job {by_name['by 0'].job_id} failed, and the program went on: ZeroDivisionError")
    assert "goes on from it" not in result.stderr


def test_a_program_that_fails_after_its_jobs_is_told_apart_from_them(compat: Any, tmp_path: Path) -> None:
    job = program(tmp_path / "job.py")
    Path(job).write_text(Path(job).read_text() + "\nraise ValueError('too late')\n")
    result = compat("run", job)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "The program failed: ValueError: too late")


@pytest.mark.parametrize("master", ["bogus", "spark://127.0.0.1:1"])
def test_a_master_that_there_is_not_is_refused_before_a_job_is_recorded(tmp_path: Path, master: str) -> None:
    began = time.monotonic()
    job = program(tmp_path / "job.py")
    command = [sys.executable, "-m", "compat", "run", job, "--master", master]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (ended.returncode, "Refused: " in ended.stderr, master in ended.stderr) == (2, True, True), ended.stderr
    assert not list(tmp_path.rglob("job.json"))
    assert time.monotonic() - began < 60  # of which most are the start of Python


def interrupted(compat: Any, job: str) -> JobEntry:
    """A job whose driver died in the middle: as after a power cut, its entry still says that it runs."""
    store = JobStore(".compat")
    assert compat("run", job, "--epochs", "2", "--epoch-records", "30").exit_code == 0
    (entry,) = store.jobs()
    entry = replace(entry, status="RUNNING", ended=None)
    Path(store.directory(entry.job_id), "job.json").unlink()  # of a job that is over nobody writes anything else
    store.write(entry)
    for commit in Path(store.state(entry.job_id), "_delta_log").glob("*.json"):
        if '"ended"' in commit.read_text():
            commit.unlink()  # its driver died before it could say so
    return entry


def test_an_interrupted_job_is_listed_and_goes_on_from_its_checkpoint(compat: Any, tmp_path: Path) -> None:
    entry = interrupted(compat, program(tmp_path / "job.py"))
    listed = compat("list").stdout
    assert f"{entry.job_id} : counting  (INTERRUPTED, checkpoint 2)" in listed
    assert "compat job cancel prevents that, compat job discard removes it." in listed
    (told,) = json.loads(compat("list", "--format", "json").stdout)
    assert (told["interrupted"], told["alive"]) == (True, False)
    again = compat("run", str(tmp_path / "job.py"))
    assert again.exit_code == 0
    assert f"Job {entry.job_id} started (counting ), resumed from checkpoint 2" in again.stderr
    assert "was edited" not in again.stderr
    assert counts(again.stdout) == {"0": 30, "1": 30, "2": 30}


def test_an_interrupted_job_can_be_given_up(compat: Any, tmp_path: Path) -> None:
    entry = interrupted(compat, program(tmp_path / "job.py"))
    cancelled = compat("cancel", entry.job_id[:6])
    assert (cancelled.exit_code, cancelled.stderr) == (0, f"Job {entry.job_id} was cancelled\n")
    assert "INTERRUPTED" not in compat("list").stdout
    assert "(CANCELED, checkpoint 2)" in compat("list", "--all").stdout
    again = compat("run", str(tmp_path / "job.py"))
    assert "resumed" not in again.stderr
    assert entry.job_id not in again.stderr


def test_a_job_that_does_not_run_can_be_removed(compat: Any, tmp_path: Path) -> None:
    entry = interrupted(compat, program(tmp_path / "job.py"))
    savepoints = list(Path(".compat/savepoints").iterdir())
    store = JobStore(".compat")
    driver = store.lock(entry.job_id)
    running = compat("discard", entry.job_id)
    assert (running.exit_code, "runs: end it with compat job stop" in running.stderr) == (2, True)
    driver.close()
    assert compat("discard", entry.job_id).exit_code == 0
    assert store.jobs() == []
    assert not store.directory(entry.job_id).exists()
    assert list(Path(".compat/savepoints").iterdir()) == savepoints
    assert compat("discard", entry.job_id).exit_code == 2


def test_a_job_that_is_removed_takes_its_checkpoints_along_wherever_they_are(compat: Any, tmp_path: Path) -> None:
    job, there = program(tmp_path / "job.py"), tmp_path / "there"
    assert compat("run", job, "--epochs", "1", "-D", f"execution.checkpointing.dir={there}").exit_code == 0
    (entry,) = JobStore(".compat").jobs()
    assert (there / entry.job_id / "state").exists()
    assert compat("discard", entry.job_id).exit_code == 0
    assert list(there.iterdir()) == []


def test_of_a_job_that_is_forgotten_the_checkpoint_can_be_restored(compat: Any, tmp_path: Path) -> None:
    entry = interrupted(compat, program(tmp_path / "job.py"))
    assert compat("cancel", entry.job_id).exit_code == 0
    store = JobStore(".compat")
    store.reduce(entry.job_id)
    left = Path(str(store.directory(entry.job_id))).iterdir()
    assert sorted(path.name for path in left) == ["plan.json", "published", "retained", "state"]
    assert store.jobs() == []
    again = compat("run", str(tmp_path / "job.py"), "-s", f".compat/jobs/{entry.job_id}")
    assert again.exit_code == 0, again.stderr
    assert counts(again.stdout) == {"0": 30, "1": 30, "2": 30}


@pytest.mark.parametrize(
    ("edit", "goes_on"),
    [
        ({"parallelism": 2, "end": 90, "poison": -7}, True),
        ({"state": "counted"}, False),
    ],
)
def test_an_edited_program_does_not_take_the_state_silently(
    compat: Any, tmp_path: Path, edit: dict[str, Any], goes_on: bool
) -> None:
    entry = interrupted(compat, program(tmp_path / "job.py"))
    again = compat("run", program(tmp_path / "job.py", **edit))
    assert f"Job {entry.job_id} ended at checkpoint 2, and job.py was edited since. " in again.stderr
    assert "--fresh starts anew" in again.stderr
    if goes_on:
        assert f"Job {entry.job_id} started (counting ), resumed from checkpoint 2" in again.stderr
    else:
        assert "CMP402" in again.stderr
        assert again.exit_code == 2
    fresh = compat("run", str(tmp_path / "job.py"), "--fresh")
    assert fresh.exit_code == 0
    assert "edited" not in fresh.stderr
    assert counts(fresh.stdout) == {"0": 30, "1": 30, "2": 30}


def test_a_restore_says_how_much_state_came_along(compat: Any, tmp_path: Path) -> None:
    result = compat("run", program(tmp_path / "job.py"), "--epochs", "2", "--epoch-records", "30")
    savepoint = result.stdout.splitlines()[-1]
    again = compat("run", str(tmp_path / "job.py"), "-s", savepoint)
    assert f"restored from checkpoint 2 of {savepoint}: 3 keys, " in again.stderr
    dropped = compat("run", program(tmp_path / "job.py", uid="other"), "-s", savepoint, "-n")
    assert ": 0 keys, " in dropped.stderr
    assert " 3 dropped" in dropped.stderr


def event(**changes: Any) -> dict[str, Any]:
    known = {"watermark": 1_700_000_000_000, "watermark_lag": 1500, "state_bytes": 12_345, "replicas": {}, "changed": 1}
    return {"event": "checkpoint", "job_id": "a" * 32, "epoch": 3, "records": 5000, "seconds": 0.5, **known, **changes}


def test_progress_is_one_line_with_what_is_known() -> None:
    progress = Progress()
    progress.add(event(), 100.0)
    assert progress.text(102.5) == (
        "epoch 3  5,000 records  10,000/s  watermark 2023-11-14 22:13:20  1.5 s behind  checkpoint 2.5 s ago  state 12 KB"
    )
    progress.add(event(epoch=4, watermark=None, watermark_lag=None, seconds=1.0), 103.0)
    assert progress.text(103.0) == "epoch 4  10,000 records  8,500/s  checkpoint 0.0 s ago  state 12 KB"


def test_without_a_terminal_there_is_a_line_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("compat.execution.narration.time.monotonic", lambda: now[0])
    narrator = Narrator()
    for epoch in range(1, 100):
        now[0] += 1
        narrator.tell(event(epoch=epoch))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"Job {'a' * 32}: epoch {epoch}" for epoch in (30, 60, 90)]


def test_on_a_terminal_a_line_moves_and_goes_away(tmp_path: Path) -> None:
    """The narrator on a pseudo terminal, of 60 columns."""
    code = (
        "import os, sys, time\n"
        "from compat.execution.narration import Narrator\n"
        "from tests.compat.cli.test_run import event\n"
        "narrator = Narrator()\n"
        "narrator.tell({'event': 'started', 'job_id': 'a' * 32, 'name': 'job', 'checkpoint': 0})\n"
        "time.sleep(0.3)\n"
        "narrator.tell(event())\n"
        "time.sleep(2.3)\n"
        "narrator.printed('a record')\n"
        "narrator.say('over')\n"
        "narrator.close()\n"
    )
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=follower, stderr=follower, stdin=follower
    ) as process:
        os.close(follower)
        told = b""
        with contextlib.suppress(OSError):  # what a terminal says when its other side is closed
            while part := os.read(leader, 4096):
                told += part
        os.close(leader)
        assert process.wait() == 0
    text = told.decode()
    drawn = re.findall(r"\r\x1b\[2K(epoch [^\r\n]*)", text)
    assert len(drawn) >= 2  # the line goes on by itself while no epoch ends
    assert all(len(line) <= 59 for line in drawn)
    assert text.split("\r\x1b[2K")[-1].replace("\r", "") == "a record\nover\n"
