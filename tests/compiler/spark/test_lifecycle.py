"""Functions are opened once, remember what they like while nothing fails, and are closed once."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.functions import KeyedProcessFunction, MapFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.state import ValueStateDescriptor
from compat.compiler.spark.driver import session
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.operators.factory import has_functions_to_keep
from compat.compiler.spark.task.epochs import PackedPlan
from compat.compiler.spark.task.hosts import _MODULE, HostLoad, _folder, _kill
from compat.compiler.transformations.operators import KeyByMap, Map, Print
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Noted:
    """Notes what is called, in a file: functions run in other processes."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def note(self, what: str) -> None:
        with open(self.path, "a") as notes:
            notes.write(f"{what} {os.getpid()}\n")

    def open(self, runtime_context: Any) -> None:
        self.note("open")

    def close(self) -> None:
        self.note("close")


class Remembering(Noted, MapFunction):
    """Numbers the records that it saw since it was opened."""

    def open(self, runtime_context: Any) -> None:
        self.seen = 0
        self.context = runtime_context
        super().open(runtime_context)

    def map(self, value: Any) -> Any:
        self.seen += 1
        self.note(f"epoch-of-attempt-{self.context.get_attempt_number()}")
        return (value, self.seen)


class Counting(Noted, KeyedProcessFunction):
    """Counts by key in state, and in itself; fails once at the record ``poison``."""

    def __init__(self, path: Path, poison: int = -1) -> None:
        super().__init__(path)
        self.poison = poison

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.own = 0
        super().open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1] == self.poison and not os.path.exists(self.path + ".failed"):
            Path(self.path + ".failed").touch()
            raise ValueError("poison")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.own += 1
        yield (value[0], count, self.own)


@pytest.fixture(scope="module", params=[InProcessExecutor, pytest.param(SparkExecutor, marks=pytest.mark.spark)])
def runs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """In this process, and on one Spark."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), request.param)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)  # hosts of others are not looked at
        patch.setattr(tempfile, "tempdir", folder)
        yield made
        start(Program())
        if made.executor is not None:
            made.executor.close()


def notes(path: Path) -> list[str]:
    return [line.split()[0] for line in path.read_text().splitlines()]


def hosts() -> list[str]:
    return os.listdir(_folder())


@pytest.mark.parametrize("parallelism", [1, 2])
def test_what_a_function_remembers_stays_from_epoch_to_epoch(runs: Cluster, tmp_path: Path, parallelism: int) -> None:
    env = runs.environment(parallelism, epoch_records=4)
    numbers = env.from_collection(list(range(16)), Types.LONG())
    made = list(numbers.rebalance().map(Remembering(tmp_path / "notes")).execute_and_collect())
    assert sorted(value for value, _ in made) == list(range(16))
    assert Counter(seen for _, seen in made) == dict.fromkeys(range(1, 16 // parallelism + 1), parallelism)
    called = Counter(notes(tmp_path / "notes"))
    assert called["open"] == called["close"] == parallelism
    assert len({line.split()[1] for line in (tmp_path / "notes").read_text().splitlines()}) <= parallelism
    assert not hosts()


def test_after_a_failure_functions_are_opened_again_and_state_is_what_was_committed(
    runs: Cluster, tmp_path: Path
) -> None:
    env = runs.environment(2, epoch_records=4)
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "0 s")
    records = [("ab"[number % 2], number) for number in range(20)]
    keyed = env.from_collection(records, PAIR).key_by(lambda pair: pair[0], Types.STRING())
    made = list(keyed.process(Counting(tmp_path / "notes", poison=13)).execute_and_collect())
    assert [count for key, count, _ in made if key == "a"] == list(range(1, 11))
    assert [count for key, count, _ in made if key == "b"] == list(range(1, 11))
    called = Counter(notes(tmp_path / "notes"))
    assert called["open"] == called["close"] == 4
    own = [number for key, _, number in made if key == "b"]
    assert own != sorted(set(own))  # counted from the start again


def test_a_job_that_is_stopped_closes_its_functions(runs: Cluster, tmp_path: Path) -> None:
    env = runs.environment(2, epoch_records=4, epochs=2)
    numbers = env.from_collection(list(range(40)), Types.LONG())
    made = list(numbers.map(Remembering(tmp_path / "notes")).execute_and_collect())
    assert len(made) == 8
    called = Counter(notes(tmp_path / "notes"))
    assert called["open"] == called["close"] == 2


def test_a_plain_function_needs_no_process_of_its_own(tmp_path: Path) -> None:
    assert not has_functions_to_keep(None)
    assert not has_functions_to_keep(Map(function=len))
    assert not has_functions_to_keep(Map(function=lambda value: value))
    assert not has_functions_to_keep(Print(function=Remembering(tmp_path)))
    assert has_functions_to_keep(Map(function=Remembering(tmp_path)))
    lone = Map(function=len)
    assert has_functions_to_keep(
        KeyByMap(function=len, key_type=Types.INT(), chained=(lone, Map(function=Remembering(tmp_path))))
    )


def test_a_host_does_not_outlive_the_process_that_it_was_started_for(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        host = subprocess.Popen(
            [sys.executable, "-m", "compat.compiler.spark.task.hosts", str(listening.fileno()), str(parent.pid)],
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    plan = PackedPlan(tasks=(), stages=(), payloads={}, stateful=frozenset(), lasting=frozenset())
    assert host.stdin is not None
    with host.stdin:
        pickle.dump(HostLoad(pickle.dumps(None), pickle.dumps(plan)), host.stdin)
    time.sleep(0.2)
    assert host.poll() is None
    parent.kill()
    parent.wait()
    assert host.wait(30) == 0


FRESH = """
import os, pickle, sys
from functools import partial
import numpy.random
from compat.compiler.spark.task import hosts
from compat.compiler.spark.task.epochs import PackedPlan

plan = PackedPlan(tasks=(), stages=(), payloads={}, stateful=frozenset(), lasting=frozenset())
text = "import numpy.random, os; open(os.path.join(folder, str(os.getpid())), 'w').write(str(numpy.random.rand()))"
load = hosts.HostLoad(pickle.dumps(partial(exec, text, {"folder": sys.argv[1]})), pickle.dumps(plan), here=True)
name = f"fresh-{os.getpid()}"
for slot in (0, 0, 1):
    host = hosts.Host(name, slot, load)
    host.start()
    with open(host._path + ".pid") as file:
        print(file.read())
hosts.close_hosts(name)
assert not hosts._forked
"""


def test_hosts_of_a_fresh_worker_are_forked_and_have_random_numbers_of_their_own(tmp_path: Path) -> None:
    source = tmp_path / "worker.py"
    source.write_text(FRESH)
    made = tmp_path / "made"
    made.mkdir()
    variables = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, str(source), str(made)], env=variables, capture_output=True, text=True, timeout=120, check=True
    )
    first, again, second = run.stdout.split()
    assert first == again != second
    assert {path.name for path in made.iterdir()} == {first, second}
    assert len({path.read_text() for path in made.iterdir()}) == 2
    assert not any(Path("/proc", pid).exists() for pid in (first, second))


@pytest.mark.parametrize("module", [_MODULE, session._SETTINGS["spark.python.daemon.module"], "another.module"])
def test_a_host_that_hangs_is_killed_and_no_process_that_took_its_number(tmp_path: Path, module: str) -> None:
    """A host that was forked has the command line of the daemon below which that was."""
    hanging = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)", "-m", module]
    with subprocess.Popen(hanging, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (tmp_path / "host.pid").write_text(str(process.pid))
        _kill(str(tmp_path / "host"))
        if module == "another.module":
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            process.kill()
        assert process.wait(10) == -signal.SIGKILL


ORPHAN = """
import os, pickle, sys, time
from compat.compiler.spark.task import hosts
from compat.compiler.spark.task.epochs import PackedPlan

daemon = os.getpid()
if os.fork():
    sys.exit()
while os.getppid() == daemon:
    time.sleep(0.01)
plan = PackedPlan(tasks=(), stages=(), payloads={}, stateful=frozenset(), lasting=frozenset())
try:
    hosts.Host("plan", 0, hosts.HostLoad(pickle.dumps(None), pickle.dumps(plan)))._connect().close()
except (hosts.HostLost, OSError):
    pass
print(hosts._started[0].wait(30))
"""


def test_a_worker_whose_daemon_was_killed_leaves_no_host_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    started = subprocess.run(
        [sys.executable, "-c", ORPHAN], env=environment, capture_output=True, text=True, timeout=60
    )
    assert started.stdout == "0\n", started.stderr


@pytest.mark.parametrize("names", [(), ("first", "second")])
def test_each_job_of_a_program_goes_on_where_that_one_was(cluster: Any, tmp_path: Path, names: tuple[str, ...]) -> None:
    """Two jobs that look alike, by default of the same name: the second one failed, and the first one is run anew."""
    file, poison = tmp_path / "program.py", tmp_path / "poison"
    for each in (file, poison):
        each.write_text("")

    def run() -> list[list[str]]:
        env = cluster.environment(1, epoch_records=1, program=str(file))
        printed = []
        for job in range(2):

            def made(number: int, job: int = job) -> int:
                if job == 1 and number == 3 and poison.exists():
                    raise ValueError("poison")
                return 10 * job + number

            cluster.lines.clear()
            env.from_collection([1, 2, 3, 4], Types.INT()).map(made, Types.INT()).print()
            with suppress(JobFailed):
                env.execute(*names[job : job + 1])
            printed.append(list(cluster.lines))
        return printed

    assert run() == [["1", "2", "3", "4"], ["11", "12"]]
    poison.unlink()
    assert run() == [["1", "2", "3", "4"], ["13", "14"]]
    assert run() == [["1", "2", "3", "4"], ["11", "12", "13", "14"]]
