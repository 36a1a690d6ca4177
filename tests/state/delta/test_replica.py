"""A replica in LMDB and its twin in memory do the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.state.delta import in_use
from compat.state.delta.replica import DamagedReplica, LmdbReplica, MemoryReplica, Position, Replica

FIRST, SECOND, OTHER = Position(1, "a"), Position(2, "b"), Position(1, "x")
KEYS = st.binary(min_size=1, max_size=3).map(lambda key: b"s" + key)
CHANGES = st.dictionaries(KEYS, st.none() | st.binary(max_size=3), max_size=6)

Make = Callable[[], Replica]


@pytest.fixture(params=["memory", "lmdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    return MemoryReplica if request.param == "memory" else lambda: LmdbReplica(str(tmp_path / "replica"))


def test_a_new_one_is_empty_and_stands_nowhere(make: Make) -> None:
    replica = make()
    assert replica.position is None
    assert replica.get(b"sa") is None
    assert list(replica.scan(b"s")) == []
    replica.close()


def test_changes_are_taken_over_and_scanned_in_order(make: Make) -> None:
    replica = make()
    replica.apply({b"sb": b"2", b"sa": b"1", b"sc": b"3", b"t": b"4"}, None, FIRST)
    replica.apply({b"sc": None, b"sb": b"5"}, FIRST, SECOND)
    assert replica.position == SECOND
    assert (replica.get(b"sb"), replica.get(b"sc")) == (b"5", None)
    assert list(replica.scan(b"s")) == [(b"sa", b"1"), (b"sb", b"5")]
    assert list(replica.scan(b"s", b"sb")) == [(b"sb", b"5")]
    replica.close()


@pytest.mark.parametrize("before", [None, OTHER, SECOND])
def test_another_attempt_is_told_and_changes_nothing(make: Make, before: Position | None) -> None:
    replica = make()
    replica.apply({b"sa": b"1"}, None, FIRST)
    with pytest.raises(RuntimeError, match="changed by another attempt"):
        replica.apply({b"sa": b"2"}, before, SECOND)
    replica.close()


def test_what_is_cleared_starts_anew(make: Make) -> None:
    replica = make()
    replica.apply({b"sa": b"1"}, None, FIRST)
    replica.clear()
    assert (replica.position, replica.get(b"sa"), list(replica.scan(b""))) == (None, None, [])
    replica.apply({b"sb": b"2"}, None, SECOND)
    assert (replica.position, list(replica.scan(b"s"))) == (SECOND, [(b"sb", b"2")])
    replica.close()


def filled(path: Path) -> Path:
    """A replica's folder as a process leaves it that ended well."""
    replica = LmdbReplica(str(path))
    replica.apply({b"s%d" % number: bytes(100) for number in range(2000)}, None, FIRST)
    replica.close()
    return path


def position_in(path: Path) -> Position | None:
    replica = LmdbReplica(str(path))
    try:
        return replica.position
    finally:
        replica.close()


def test_a_replica_that_was_closed_is_taken_as_it_is(tmp_path: Path) -> None:
    assert position_in(filled(tmp_path)) == FIRST


def test_a_truncated_replica_is_empty(tmp_path: Path) -> None:
    file = filled(tmp_path) / "data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    assert position_in(tmp_path) is None


def test_a_replica_whose_head_is_scribbled_over_is_empty(tmp_path: Path) -> None:
    with open(filled(tmp_path) / "data.mdb", "r+b") as file:
        file.write(b"\xff" * 8192)
    assert position_in(tmp_path) is None


def test_a_replica_that_somebody_else_wrote_to_is_empty(tmp_path: Path) -> None:
    file = filled(tmp_path) / "data.mdb"
    with open(file, "r+b") as opened:
        opened.seek(file.stat().st_size // 2)
        opened.write(b"\1")
    assert position_in(tmp_path) is None


def test_bits_that_flip_on_the_disk_give_no_wrong_value(tmp_path: Path) -> None:
    """Nobody wrote to the file, as far as the system tells."""
    file = filled(tmp_path) / "data.mdb"
    whole, status = file.read_bytes(), file.stat()
    chance, noticed = random.Random(1), 0
    for _ in range(60):
        data = bytearray(whole)
        data[chance.randrange(3 * 4096, len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        replica = LmdbReplica(str(tmp_path))
        assert replica.position == FIRST
        try:
            found = [replica.get(b"s%d" % number) for number in range(2000)]
        except DamagedReplica:
            noticed += 1
        except replica._lmdb.Error:
            pass  # a page is not one any more
        else:
            assert set(found) <= {bytes(100), None}
        replica.close()
    assert noticed > 40


def test_a_replica_of_before_the_system_started_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not written to the disk then is gone, and nothing tells which pages."""
    filled(tmp_path)
    monkeypatch.setattr(in_use, "boot_id", lambda: "another")
    assert position_in(tmp_path) is None


def test_a_replica_that_was_open_when_a_process_was_killed_is_empty(tmp_path: Path) -> None:
    """It may have been what the process read that killed it."""
    filled(tmp_path)
    program = f"""
import os, signal
from compat.state.delta import in_use
from compat.state.delta.replica import LmdbReplica
assert LmdbReplica({str(tmp_path)!r}).position is not None
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == -signal.SIGKILL
    assert position_in(tmp_path) is None


def test_a_replica_that_another_attempt_has_open_is_taken_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    program = f"""
import sys
from compat.state.delta import in_use
from compat.state.delta.replica import LmdbReplica
replica = LmdbReplica({str(tmp_path)!r})
print(replica.position is not None, flush=True)
sys.stdin.read()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        assert position_in(tmp_path) == FIRST


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGES, min_size=1, max_size=4), st.sampled_from([b"s", b"sa", b"s\x00", b"s\xff"]))
def test_both_hold_the_same(tmp_path: Path, epochs: list[dict[bytes, bytes | None]], prefix: bytes) -> None:
    memory, lmdb = MemoryReplica(), LmdbReplica(str(tmp_path / "both"))
    lmdb.clear()
    before: Position | None = None
    for number, changes in enumerate(epochs):
        after = Position(number, "t")
        for replica in (memory, lmdb):
            replica.apply(changes, before, after)
        before = after
        assert list(memory.scan(prefix)) == list(lmdb.scan(prefix))
        assert memory.position == lmdb.position == after
    lmdb.close()
