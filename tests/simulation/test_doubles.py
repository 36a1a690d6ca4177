"""The doubles answer as the libraries do: whatever is asked of them, in whatever order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import deltalake
import lmdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.delta import log as logs
from compat.state.delta.compaction import compact, contents
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, read_rows, write_rows
from compat.state.delta.slices import cut, read_slice
from tests.simulation.doubles.libraries import doubled
from tests.simulation.schedule import run

LIBRARIES: list[Callable[[], AbstractContextManager[None]]] = [nullcontext, doubled]

# Steps on a table: two writers, each with what it last saw, and a person who meddles.

WRITER = st.integers(0, 1)
KEY = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("commit"), WRITER, st.lists(st.tuples(KEY, st.integers(0, 9) | st.none()), max_size=3)),
    st.tuples(st.just("commit again"), WRITER, st.just(0)),
    st.tuples(st.just("compact"), WRITER, st.just(0)),
    st.tuples(st.just("clean"), WRITER, st.integers(1, 4)),
    st.tuples(st.just("look"), WRITER, st.just(0)),
    st.tuples(st.just("open"), WRITER, st.just(0)),
    st.tuples(st.just("open version"), WRITER, st.integers(0, 9)),
    st.tuples(st.just("optimize"), WRITER, st.just(0)),
    st.tuples(st.just("restore"), WRITER, st.integers(1, 6)),
    st.tuples(st.just("write"), WRITER, st.integers(0, 3)),
)


def told(logs_of: list[SnapshotLog]) -> list[Any]:
    """What both writers see, without what each run names otherwise."""
    return [
        (
            log.version,
            log.epoch,
            log.next_epoch,
            log.floor,
            log.tokens(),
            log.runs(),
            [(each["epoch"], each["version"]) for each in log.checkpoints()],
            sorted((file.rows, file.operators, file.key_groups, file.epochs) for file in log.files()),
            sorted(row for table in contents(log) for row in read_rows(table)),
            sorted(
                each
                for table in log.changes(1, range(2), frozenset(["op"]))
                for each in zip(table["epoch"].to_pylist(), table["key"].to_pylist(), strict=True)
            ),
        )
        for log in logs_of
    ]


def step(path: str, writers: list[SnapshotLog], what: str, who: int, given: Any, number: int) -> Any:
    """Do one step; gives what came of it."""
    log = writers[who]
    match what:
        case "commit" | "commit again":
            epoch = log.epoch if what == "commit again" else log.next_epoch
            rows = [
                Row("op", Kind.VALUE, key % 2, "state", b"%d" % key, b"", b"", None if value is None else b"%d" % value)
                for key, value in dict(given or []).items()
            ]
            return log.commit(epoch, [write_rows(path, rows, epoch)] if rows else [], {"token": f"t{number}"})
        case "compact":
            return compact(log, {"token": log.tokens().get(log.epoch, ""), "runs": log.runs()})
        case "clean":
            return log.clean(given)
        case "look":
            return log.refresh()
        case "open":
            writers[who] = SnapshotLog.open(path)
        case "open version":
            writers[who] = SnapshotLog.open(path, given)
        case "optimize":
            deltalake.DeltaTable(path).optimize.compact()
        case "restore":
            table = deltalake.DeltaTable(path)
            table.restore(max(table.version() - given, 0))
        case "write":  # another application's commit, with what this writer last saw
            properties = deltalake.CommitProperties(
                custom_metadata={"note": str(given)}, app_transactions=[deltalake.Transaction(f"other{given}", number)]
            )
            log._table.create_write_transaction([], "append", logs.SCHEMA, commit_properties=properties)
    return None


def played(libraries: Callable[[], AbstractContextManager[None]], steps: list[tuple[str, int, Any]]) -> list[Any]:
    """All that there is to see of the steps."""
    found: list[Any] = []
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path, libraries():
        writers = [SnapshotLog.create(path), SnapshotLog.create(path)]
        for number, (what, who, given) in enumerate(steps):
            try:
                found.append(step(path, writers, what, who, given, number))
            except StoreError:
                found.append("refused")
            except deltalake.exceptions.DeltaError:
                found.append("refused by Delta")
            try:
                found.append(told(writers))
            except StoreError:
                found.append("cannot be read")
        commits = [name[:20] for name in os.listdir(Path(path, "_delta_log")) if name.endswith(".json")]
        found.append((sorted(commits), len(list(Path(path).glob("*.parquet")))))
    return found


@contextmanager
def often_checkpointed() -> Iterator[None]:
    with patch.dict(logs._CONFIGURATION, {"delta.checkpointInterval": "4"}):
        yield


def same_tables(steps: list[tuple[str, int, Any]]) -> None:
    with often_checkpointed():
        real, double = (played(libraries, steps) for libraries in LIBRARIES)
    for number, (expected, answered) in enumerate(zip(real, double, strict=True)):
        assert answered == expected, f"after step {number // 2}"


@settings(max_examples=12)
@given(st.lists(STEPS, min_size=4, max_size=12))
def test_the_double_of_a_table_answers_as_delta_does(steps: list[tuple[str, int, Any]]) -> None:
    same_tables(steps)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(STEPS, min_size=4, max_size=25))
def test_the_double_of_a_table_answers_as_delta_does_for_long(steps: list[tuple[str, int, Any]]) -> None:
    same_tables(steps)


ENTRY = st.binary(min_size=1, max_size=3)
LMDB_STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "put many"]), ENTRY, st.binary(max_size=3)),
    st.tuples(st.sampled_from(["delete", "get", "scan"]), ENTRY, st.just(b"")),
    st.tuples(
        st.sampled_from(["fail", "open again", "cut", "remove", "too long", "too many"]), st.just(b""), st.just(b"")
    ),
)


def kept(libraries: Callable[[], AbstractContextManager[None]], steps: list[tuple[str, bytes, bytes]]) -> list[Any]:
    """What an environment answers, to a reader that began before each step and to one that begins behind it."""
    found: list[Any] = []
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path, libraries():
        environment = lmdb.open(path, map_size=1 << 20)
        for what, key, value in steps:
            reading = environment.begin(buffers=False)
            if what in ("open again", "cut", "remove"):
                reading.abort()
                environment.close()
                if what == "cut":
                    os.truncate(Path(path, "data.mdb"), 10)
                elif what == "remove":
                    os.unlink(Path(path, "data.mdb"))
                try:
                    environment = lmdb.open(path, map_size=1 << 20)
                except lmdb.Error:
                    found.append("damaged")
                    os.unlink(Path(path, "data.mdb"))
                    environment = lmdb.open(path, map_size=1 << 20)
                continue
            try:
                with environment.begin(write=True) as writing:
                    match what:
                        case "put":
                            writing.put(key, value)
                        case "put many":
                            with writing.cursor() as cursor:
                                found.append(cursor.putmulti((key + more, value) for more in (b"", b"a", b"")))
                        case "too many":
                            with writing.cursor() as cursor:
                                cursor.putmulti([(b"b", b"never there"), (b"x" * 512, b"")])
                        case "delete":
                            found.append(writing.delete(key))
                        case "too long":
                            writing.put(b"x" * 512, b"")
                        case "fail":
                            writing.put(b"a", b"never there")
                            raise KeyError
            except (KeyError, lmdb.Error) as error:
                found.append(type(error).__name__)
            after = environment.begin(buffers=False)
            for transaction in (reading, after):
                with transaction.cursor() as cursor:
                    found.append(
                        [transaction.get(key or b"?"), list(cursor) if cursor.set_range(key or b"\0") else None]
                    )
                transaction.abort()
        environment.close()
    return found


@settings(max_examples=50)
@given(st.lists(LMDB_STEPS, max_size=12))
def test_the_double_of_a_replica_answers_as_lmdb_does(steps: list[tuple[str, bytes, bytes]]) -> None:
    real, double = (kept(libraries, steps) for libraries in LIBRARIES)
    assert double == real


@pytest.mark.parametrize("libraries", LIBRARIES)
def test_a_file_of_columns_is_read_while_it_is_whole(
    libraries: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    rows = [Row("op", Kind.VALUE, 1, "state", b"k", b"", b"", b"v")]
    with libraries():
        log = SnapshotLog.create(tmp_path)
        log.commit(1, [write_rows(str(tmp_path), rows, 1)], {"token": "t"})
        (file,) = log.files()
        whole = Path(tmp_path, file.path)
        assert list(read_rows(next(log.parts(files=[file])))) == rows
        whole.write_bytes(Path(whole).read_bytes())  # a copy is as good
        assert list(read_rows(next(log.parts(files=[file])))) == rows
        (one,) = cut(log.sources()).slices
        assert list(read_rows(read_slice(one))) == rows
        os.truncate(whole, 20)
        with pytest.raises(StoreError, match="cannot be read"):
            next(log.parts(files=[file]))
        whole.unlink()
        with pytest.raises(StoreError, match="lacks the file"):
            next(log.parts(files=[file]))


def test_a_schedule_comes_to_the_same_on_the_doubles() -> None:
    """The seeds are of schedules with one of each fault that the tables and replicas see."""
    for seed in (1, 3, 6):
        assert run(seed, real=True) == run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_many_schedules_come_to_the_same_on_the_doubles(first: int) -> None:
    for seed in range(first, first + 20):
        assert run(seed, real=True) == run(seed)
