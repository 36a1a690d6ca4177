"""One JVM for many programs: each is built as if it were the first, whatever the others did to it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.digests import of_file
from compat.loader.inputs import FlinkJars, Input, InputKind, LoadOptions
from compat.loader.jvm import process
from compat.loader.jvm.loading import begin
from compat.loader.jvm.messages import Restore
from compat.loader.jvm.process import JvmOptions, JvmProcess
from compat.loader.jvm.warm import WarmJvms
from compat.state.model.job import Plan
from tests.compat.loader.jvm.golden import PROGRAMS, SAMPLED, program
from tests.compat.loader.jvm.support import build_all
from tests.repositories import committed


@pytest.fixture
def started(monkeypatch):
    """The JVMs that were started so far."""
    jvms = []

    def start(setup):
        jvms.append(JvmProcess(setup))
        return jvms[-1]

    monkeypatch.setattr(process, "JvmProcess", start)
    return jvms


@pytest.fixture
def built(flink, java):
    """Builds programs.jar with an argument, in one of these JVMs."""

    def build(jvms, argument):
        given = Input("job.jar", str(PROGRAMS), InputKind.JAR, arguments=(argument,))
        load = LoadOptions(timeout=30, jars=FlinkJars(classpath=flink.classpath))
        (plan,) = begin(given, load, jvms).finish().plans
        assert isinstance(plan, Plan)
        return msgspec.structs.replace(plan, empty_savepoint=None, samples=())  # it has ids that no two builds share

    return build


def states(plan):
    return [state.name for operator in plan.operators for state in operator.states if state.name in ("n", "other")]


def wait_for_end(jvm):
    deadline = time.monotonic() + 30
    while jvm.alive:
        assert time.monotonic() < deadline, "the program does not end its JVM"
        time.sleep(0.02)


def test_one_jvm_serves_programs_one_after_the_other(built, started):
    with WarmJvms() as jvms:
        plans = [built(jvms, name) for name in ("prints", "prints", "leaves-thread", "prints")]
    assert len(started) == 1
    assert started[0].builds == 4
    assert all(plan == plans[0] for plan in plans)


def test_what_a_program_sets_is_gone_for_the_next_one(built, started):
    with WarmJvms() as jvms:
        first = built(jvms, "reads")
        built(jvms, "sets")
        assert built(jvms, "reads") == first
    assert states(first) == ["n"]
    assert len(started) == 1


def test_what_fails_after_others_is_tried_as_the_first(built, started):
    with WarmJvms() as jvms:
        plans = [built(jvms, "once") for _ in range(2)]
    assert plans[0] == plans[1]
    assert [jvm.builds for jvm in started] == [2, 1]


def test_a_restore_into_a_program_that_was_begun_in_a_jvm_that_is_replaced(flink, built, started):
    load = LoadOptions(timeout=30, jars=FlinkJars(classpath=flink.classpath))
    with WarmJvms() as jvms:
        built(jvms, "once")
        old, new = (
            begin(Input("job.jar", str(PROGRAMS), InputKind.JAR, arguments=(name,)), load, jvms)
            for name in ("once", "prints")
        )
        (plan,) = old.finish().plans  # it fails behind the first, and is tried in a JVM of its own
        new.restore(Restore(metadata=plan.empty_savepoint))
        made = new.finish()
    assert made.plans[0].operators
    assert made.answers[0].failure == ""
    assert [jvm.builds for jvm in started] == [3, 2]


def test_what_failed_in_the_first_program_too_is_not_tried_again(built, started):
    with WarmJvms() as jvms:
        plans = [built(jvms, "open-fails") for _ in range(2)]
    assert plans[0] == plans[1]
    assert [jvm.builds for jvm in started] == [2]


def test_a_jvm_that_a_program_ended_is_replaced(built, started):
    with WarmJvms() as jvms:
        plans = []
        for name in ("exits-later", "prints", "exits", "prints"):
            plans.append(built(jvms, name))
            if name != "prints":
                wait_for_end(started[-1])
    assert len({states(plan)[0] for plan in plans}) == 1
    assert [jvm.builds for jvm in started] == [1, 2, 1]


def test_a_jvm_is_ended_after_so_many_programs(built, started, monkeypatch):
    monkeypatch.setattr("compat.loader.jvm.warm._LASTS", 2)
    with WarmJvms() as jvms:
        for _ in range(3):
            built(jvms, "prints")
    assert [jvm.builds for jvm in started] == [2, 1]
    assert not any(jvm.alive for jvm in started)


def test_other_options_have_a_jvm_of_their_own(flink, built, started):
    with WarmJvms() as jvms:
        built(jvms, "prints")
        given = Input("job.jar", str(PROGRAMS), InputKind.JAR, arguments=("prints",))
        load = LoadOptions(options={"parallelism.default": "3"}, timeout=30, jars=FlinkJars(classpath=flink.classpath))
        (plan,) = begin(given, load, jvms).finish().plans
        built(jvms, "prints")
    assert {operator.parallelism for operator in plan.operators} == {3}
    assert plan.program == of_file(str(PROGRAMS))
    assert [jvm.builds for jvm in started] == [2, 1]


def test_what_a_program_gives_does_not_depend_on_those_before_it(flink, java):
    asked = [(name, side) for name in SAMPLED["2.3.0"] for side in ("old", "new")]
    programs = [program("2.3.0", *one) for one in asked]
    options = JvmOptions(options={})
    forwards = build_all(programs, flink, java, options)
    backwards = build_all(programs[::-1], flink, java, options)[::-1]
    for one, first, second in zip(asked, forwards, backwards, strict=True):
        assert [comparable(job) for job in first.jobs] == [comparable(job) for job in second.jobs], one


def comparable(job):
    """A job without what no two builds share: the time at which it was planned."""
    options = {key: value for key, value in job.options.items() if not key.startswith("__table.query-start.")}
    return msgspec.structs.replace(job, options=options)


@pytest.mark.parametrize("argument", ["hangs", "prints"])
def test_nothing_is_left_when_the_one_who_waits_is_killed(flink, java, tmp_path, argument):
    command = [sys.executable, "-m", "compat", "plan", str(PROGRAMS), "--args", argument]
    command += ["--classpath", os.pathsep.join(flink.classpath)]
    waiting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = []
    while waiting.poll() is None and not children:
        time.sleep(0.05)
        children = children_of(waiting.pid)
    time.sleep(0.4)
    waiting.send_signal(signal.SIGKILL)
    waiting.wait()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{one}").exists() for one in children) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [one for one in children if Path(f"/proc/{one}").exists()]


def children_of(process):
    try:
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


EXAMPLES = Path(__file__).parents[4] / "compat" / "examples"
SAVED = Path(__file__).parents[3] / "golden" / "java" / "2.3.0"
PAIRS = (
    ("payments/v1.jar", "payments/v2.jar"),
    ("payments/v2.jar", "payments/v2.jar"),
    ("revenue/v1.sql", "revenue/v2.sql"),
)


@pytest.fixture
def check(flink, java, tmp_path, monkeypatch):
    """Runs ``compat check`` in a folder with the examples."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)

    def run(*arguments):
        result = CliRunner().invoke(main, ["check", *arguments, "--classpath", os.pathsep.join(flink.classpath)])
        assert result.exit_code in (0, 1), result.output
        return result

    return run


def test_pairs_are_judged_as_alone_in_one_jvm(check, started):
    Path("pairs.jsonl").write_text("\n".join(json.dumps({"old": old, "new": new}) for old, new in PAIRS))
    together = [json.loads(line) for line in check("--pairs", "pairs.jsonl").stdout.splitlines()]
    assert len(started) == 1
    assert together == [json.loads(check(old, new, "--output", "json").stdout) for old, new in PAIRS]
    assert [one["verdict"] for one in together] == ["incompatible", "compatible", "incompatible"]


def test_files_are_held_against_a_revision_in_one_jvm(check, started):
    committed()
    shutil.copy("payments/v2.jar", "payments/v1.jar")
    result = check("--against", "HEAD", "payments/v1.jar", "payments/v2.jar", "--output", "json")
    assert [one["verdict"] for one in json.loads(result.stdout)["reports"]] == ["incompatible", "compatible"]
    assert len(started) == 1


def test_the_jvm_that_tells_the_names_of_a_savepoint_builds_new(check, started):
    pair = SAVED / "q_agg_added"
    check(str(pair / "savepoint"), str(pair / "new.sql"), "--names", str(pair / "old.sql"))
    assert [jvm.builds for jvm in started] == [2]


def test_both_versions_of_an_operator_are_explained_from_one_jvm(flink, java, started):
    versions = [str(EXAMPLES / "revenue" / f"{name}.sql") for name in ("v1", "v2")]
    asked = ["explain", *versions, "GroupAggregate", "--classpath", os.pathsep.join(flink.classpath)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    assert [jvm.builds for jvm in started] == [2]
