"""Results that a state backend of Flink writes: in its own format, or canonical where only classes read the state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.jvm.messages import NativeBackend
from compat.migration.keyed_forms import for_classes
from compat.migration.recipe import ConvertKey, RenameState
from compat.savepoint.operators import RequestError
from compat.state.flink import KeyedFormat, entries, keyed_format, list_files, read_metadata
from compat.state.flink.handles import KeyGroupRange
from compat.state.flink.header_parts import TypeNames
from compat.state.flink.keyed_transfer import keyed_source
from compat.state.flink.savepoint import SubtaskState
from compat.state.flink.states import HeaderReader
from tests.compat.migration.conftest import JAVA, Pairs

GOLDEN = JAVA.parents[1]
NATIVE = GOLDEN / "migrations" / "native"
FORMATS = (("hashmap", KeyedFormat.HEAP), ("rocksdb", KeyedFormat.FILES))


def keyed_subtasks(folder: Path) -> list[SubtaskState]:
    found = [subtask for operator in read_metadata(folder).operators for subtask in operator.subtasks]
    return [subtask for subtask in found if subtask.managed_keyed is not None]


def stored(folder: Path) -> Iterator[tuple[str, str, bytes, bytes]]:
    """The entries of keyed state, each with its operator and its state."""
    savepoint = read_metadata(folder)
    headers = HeaderReader(savepoint)
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            if (source := keyed_source(headers, operator, subtask, TypeNames(), {})) is not None:
                for group in source.groups.numbers:
                    for entry in source.groups.entries(group):
                        yield operator.id, source.names[entry.state], entry.key, entry.value


def values(folder: Path) -> dict[tuple[str, object], object]:
    savepoint = read_metadata(folder)
    return {(entry.state.name, entry.key): entry.value for entry in entries(savepoint) if entry.state.kind.keyed}


@pytest.mark.parametrize(("backend", "form"), FORMATS)
def test_the_keyed_state_is_that_of_the_canonical_result(
    backend: NativeBackend, form: KeyedFormat, pairs: Pairs, tmp_path: Path
) -> None:
    step = ConvertKey(operator="count", single="f0")
    canonical = pairs.migrate("key_tuple_to_single", tmp_path / "canonical", step)
    done = pairs.migrate("key_tuple_to_single", tmp_path, step, native=backend)
    assert (done.kept, done.by_flink) == (True, sum(canonical.entries.values()))
    made = read_metadata(tmp_path / "out")
    assert made.digest == done.digest
    assert {keyed_format(made, one) for one in made.operators} - {None} == {form}
    assert values(tmp_path / "out") == values(tmp_path / "canonical" / "out") != {}


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_each_subtask_keeps_its_key_groups(backend: str, flink, tmp_path: Path) -> None:
    query = NATIVE / "two_subtasks.sql"
    places = [str(query.with_suffix("")), str(query), str(tmp_path / "out")]
    given = ["migrate", *places, "--names", str(query), "--native", backend, "-D", f"state.backend.type={backend}"]
    result = CliRunner().invoke(main, [*given, "--classpath", ":".join(flink.classpath)])
    assert result.exit_code == 0, result.output
    assert f"keyed state in the format of {backend}, 7 entries" in result.stdout
    before, after = (
        {subtask.index: subtask.managed_keyed.key_groups for subtask in keyed_subtasks(folder)}
        for folder in (query.with_suffix(""), tmp_path / "out")
    )
    assert before == after == {0: KeyGroupRange(0, 64), 1: KeyGroupRange(64, 64)}


@pytest.mark.parametrize("pair", ["kryo_field_removed", "cep_first_stage_renamed"])
def test_what_only_classes_read_of_the_heap_becomes_canonical(pair: str, flink, tmp_path: Path) -> None:
    """By the program that wrote it; the entries are the bytes that its canonical savepoint has."""
    saved, jar = JAVA / pair / "savepoint", JAVA / pair / "old.jar"
    native, out = tmp_path / "native", tmp_path / "out"
    main_class = "".join(word.title() for word in pair.split("_"))
    flags = [
        "--main-class",
        main_class,
        "--classpath",
        ":".join(flink.classpath),
        "--names",
        str(jar),
        "--allow-unknown",
    ]
    for source, target, option in ((saved, native, ("--native", "hashmap")), (native, out, ("--canonical",))):
        result = CliRunner().invoke(main, ["migrate", str(source), str(jar), str(target), *option, *flags])
        assert result.exit_code == 0, result.output
    assert len(for_classes(read_metadata(native))) == 1
    assert for_classes(read_metadata(out)) == frozenset()
    assert sorted(stored(out)) == sorted(stored(saved)) != []


def test_what_news_classes_do_not_read_asks_for_old(flink, tmp_path: Path) -> None:
    pair = JAVA / "kryo_field_removed"
    flags = ["--main-class", "KryoFieldRemoved", "--classpath", ":".join(flink.classpath), "--allow-unknown"]
    native = [
        "migrate",
        str(pair / "savepoint"),
        str(pair / "old.jar"),
        str(tmp_path / "native"),
        "--native",
        "hashmap",
    ]
    assert CliRunner().invoke(main, [*native, *flags]).exit_code == 0
    given = ["migrate", str(tmp_path / "native"), str(pair / "new.jar"), str(tmp_path / "out"), "--canonical"]
    result = CliRunner().invoke(main, [*given, *flags])
    assert result.exit_code == 2
    assert "give OLD in place of NEW, and migrate the result" in result.stderr
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_of_what_was_written_on_the_way(pairs: Pairs, tmp_path: Path) -> None:
    pairs.migrate("pojo_field_renamed", tmp_path, native="rocksdb")
    out = tmp_path / "out"
    needed = {file.location.path for file in list_files(read_metadata(out))}
    assert {str(file) for file in out.iterdir()} == {str(out / "_metadata"), *needed}


def test_state_of_flink_1_for_flink_2_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="Flink 2 does not write state of Flink 1 anew: migrate without --native"):
        pairs.upgrade("state_renamed", tmp_path, RenameState(operator="val", state="st", to="st2"), native="rocksdb")
    assert not (tmp_path / "out").exists()


def test_a_program_in_python_has_no_state_backend(tmp_path: Path) -> None:
    saved = GOLDEN / "savepoints" / "small_uid_p2_canonical"
    program = tmp_path / "job.py"
    program.write_text(json.loads(saved.with_suffix(".json").read_text())["program"])
    given = ["migrate", str(saved), str(program), str(tmp_path / "out"), "--native", "rocksdb"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2
    assert "a jar or an SQL script brings and a program in Python does not" in result.stderr
    both = CliRunner().invoke(main, [*given, "--canonical"])
    assert "--canonical and --native exclude one another" in both.stderr


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


RECORDS = lines(NATIVE / "restored.jsonl")


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: f"{one['name']}-{one['version']}")
def test_flink_read_what_it_reads_of_the_canonical_result(record: dict[str, Any]) -> None:
    """On each backend; where the source stands when the savepoint is read differs from run to run."""
    (same,) = (
        one
        for one in lines(NATIVE.parent / "results.jsonl")
        if (one["name"], one["version"]) == (record["name"], record["version"])
    )
    for backend, found in record["read"].items():
        assert "failed" not in found
        assert stated(found) == stated(same["read"]["rocksdb" if backend == "forst" else backend])


def stated(read: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in read.items() if key != "src.offset -"}


def test_each_backend_read_its_form_and_forst_that_of_rocksdb() -> None:
    assert {(record["version"], *record["read"]) for record in RECORDS} >= {
        ("2.3.0", "hashmap", "rocksdb", "forst"),
        ("1.20.0", "hashmap", "rocksdb"),
    }
