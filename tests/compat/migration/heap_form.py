"""Canonical savepoints that Flink wrote, in the own form of Flink's heap, which is that of native savepoints and checkpoints.

``python -m tests.compat.migration.heap_form twins`` has a hashmap backend of the version that wrote each restore it and take a
checkpoint, plain or compressed, for ``tests/golden/heap_form/twins.zip``. ``… restore FILE [NAME…]`` migrates such twins by the
recipes that are recorded of the canonical ones, and records what a real Flink reads of them on each state backend.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from compat.loader.inputs import FlinkJars
from compat.loader.jvm.warm import WarmJvms
from compat.migration.migrating import Migration, migrate
from compat.migration.recipe import Recipe
from compat.savepoint.names import Names
from compat.state.flink import HeaderReader, entries, read_draft, read_metadata, stored_states
from compat.state.flink.handles import KeyGroups
from tests.compat.loader.jvm.support import flink_of
from tests.compat.migration.in_flink import (
    check_of,
    compiled,
    folder_of,
    is_query,
    libraries_of,
    pairs,
    read_in_flink,
)

GOLDEN = Path(__file__).parents[2] / "golden"
SAVED = GOLDEN / "heap_form"
VERSIONS = ("2.3.0", "1.20.0")
MODES = ("PLAIN", "SNAPPY")
"""Whether snapshots are compressed (`execution.checkpointing.snapshot-compression`)."""


class Twin(msgspec.Struct, frozen=True):
    """A canonical savepoint that is to be written in the heap's form: by which version of Flink, with the classes of which
    jars."""

    version: str
    savepoint: Path
    jars: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The savepoint, by its place among the golden ones."""
        return str(self.savepoint.relative_to(GOLDEN))


def canonical() -> Iterator[Twin]:
    """The savepoints that have keyed state in the canonical form."""
    for version in VERSIONS:
        for folder in sorted((GOLDEN / "java" / version).iterdir()):
            yield from _canonical(Twin(version, folder / "savepoint", (str(folder / "old.jar"),)))
    python = _python_jars()
    for folder in sorted((GOLDEN / "savepoints").glob("*_canonical")):
        yield from _canonical(Twin(VERSIONS[0], folder, python))
    for kind in ("pyflink", "queries"):
        for folder in sorted((GOLDEN / "migrations" / kind).iterdir()):
            yield from _canonical(Twin(VERSIONS[0], folder / "savepoint", python))


def _canonical(twin: Twin) -> Iterator[Twin]:
    if (twin.savepoint / "_metadata").exists():
        subtasks = (one for operator in read_metadata(twin.savepoint).operators for one in operator.subtasks)
        if any(isinstance(one.managed_keyed, KeyGroups) for one in subtasks):
            yield twin


def _python_jars() -> tuple[str, ...]:
    """The jar with the serializers of PyFlink's states, of the PyFlink in COMPAT_PYFLINK."""
    told = [os.environ["COMPAT_PYFLINK"], "-c", "import pyflink, os; print(os.path.dirname(pyflink.__file__))"]
    place = subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()
    return tuple(map(str, Path(place, "opt").glob("flink-python-*.jar")))


def written(twins: Sequence[Twin], modes: Sequence[str], folder: Path) -> Iterator[tuple[Twin, str, Path]]:
    """Twins that Flink wrote into a folder, each in its own; says which of them it did not write."""
    for version in VERSIONS:
        jars = {twin.jars for twin in twins if twin.version == version}
        classpath = _compiled(
            str(folder / version), ":".join(map(str, (*flink_of(version).classpath, *flink_of(version).jars)))
        )
        for more in sorted(jars):
            chosen = [(twin, mode) for twin in twins if (twin.version, twin.jars) == (version, more) for mode in modes]
            yield from _written(chosen, ":".join((classpath, *more)), folder)


def _compiled(folder: str, classpath: str) -> str:
    source = str(Path(__file__).parent / "heap" / "HeapTwin.java")
    subprocess.run(["javac", "-nowarn", "-d", folder, "-cp", classpath, source], check=True)
    return f"{folder}:{classpath}"


def _written(chosen: Sequence[tuple[Twin, str]], classpath: str, folder: Path) -> Iterator[tuple[Twin, str, Path]]:
    places = {(twin.name, mode): folder / mode / twin.name for twin, mode in chosen}
    for twin, mode in chosen:
        shutil.copytree(twin.savepoint, places[twin.name, mode])
    told = [f"{mode}:{twin.savepoint}:{places[twin.name, mode]}" for twin, mode in chosen]
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time")]
    run = subprocess.run(
        ["java", *opens, "-cp", classpath, "HeapTwin", *told], check=True, capture_output=True, text=True
    )
    lines = run.stdout.splitlines()
    for twin, mode in chosen:
        if f"WRITTEN {places[twin.name, mode]}" in lines:
            yield twin, mode, places[twin.name, mode]
    print(*(line for line in lines if line.startswith("FAILED")), sep="\n", end="")


def save_twins() -> None:
    """Put the metadata of twins into the archive, in which their keyed state is."""
    SAVED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        keep(written(list(canonical()), MODES, Path(folder)))


def keep(twins: Iterable[tuple[Twin, str, Path]]) -> None:
    """Keep those that are read here and have a state such as no other one has."""
    seen: set[str] = set()
    with zipfile.ZipFile(SAVED / "twins.zip", "w", zipfile.ZIP_LZMA) as archive:
        for twin, mode, place in twins:
            found = {f"{twin.version} {mode} {shape}" for shape in _shapes(place)}
            if found - seen:
                archive.write(place / "_metadata", f"{mode.lower()}/{twin.name}/_metadata")
            seen |= found


def _shapes(folder: Path) -> Iterator[str]:
    """The kinds and serializers of the keyed states of a savepoint; none where one cannot be read, or no state has entries."""
    savepoint = read_metadata(folder)
    keyed = [state for state in stored_states(savepoint) if state.kind.keyed]
    if any(state.problem for state in keyed) or not any(entries(savepoint, lambda state: state.kind.keyed)):
        return
    headers = HeaderReader(savepoint)
    for subtask in (one for operator in savepoint.operators for one in operator.subtasks):
        header = None if subtask.managed_keyed is None else headers.keyed(subtask.managed_keyed)
        if header is not None:
            yield from (f"{header.key_serializer} {meta.options} {meta.serializers}" for meta in header.states)


def restore(path: str, names: Sequence[str]) -> None:
    """Record what Flink restored from twins that were migrated, a line a pair."""
    lines = (GOLDEN / "migrations" / "results.jsonl").read_text().splitlines()
    records = {(one["version"], one["name"]): one for one in map(json.loads, lines)}
    with WarmJvms() as jvms, tempfile.TemporaryDirectory() as folder, open(path, "a") as out:
        for version in VERSIONS:
            classpath = compiled(folder, ":".join(map(str, flink_of(version).classpath)))
            for pair in pairs(version):
                record = records.get((version, pair["name"]))
                if record is None or pair["name"] not in names or is_query(pair):
                    continue
                target = str(Path(folder, f"{version}-{pair['name']}"))
                _migrated(pair, record, Path(folder, "twins", version, pair["name"]), target, jvms)
                read = {backend: read_in_flink(pair, target, backend, classpath) for backend in ("hashmap",)}
                print(version, pair["name"], flush=True)
                out.write(json.dumps({"version": version, "name": pair["name"], "read": read}) + "\n")
                out.flush()


def _migrated(pair: dict[str, Any], record: dict[str, Any], folder: Path, target: str, jvms: WarmJvms) -> None:
    """Write what a recorded recipe makes of the twin of a pair's savepoint."""
    version = pair["version"]
    saved = folder_of(pair) / "savepoint"
    ((_, _, twin),) = written([Twin(version, saved, (str(folder_of(pair) / "old.jar"),))], MODES[1:], folder)
    wanted = Migration(
        draft=read_draft(read_metadata(twin)),
        recipe=msgspec.convert(record["recipe"], Recipe),
        names=Names(),
        check=check_of(pair, target),
        old=str(folder_of(pair) / "old.jar"),
        old_flink=FlinkJars(version=version, classpath=libraries_of(pair)),
        allow_unknown=True,
    )
    assert migrate(wanted, jvms).kept


if __name__ == "__main__":
    if sys.argv[1] == "twins":
        save_twins()
    else:
        restore(sys.argv[2], sys.argv[3:])
