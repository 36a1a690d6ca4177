"""Restores of random types of state, and what the check says of each."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from compat.check.findings import Report
from tests.compat.java_types.drawing import Versions, versions
from tests.compat.verdicts import built, verdict

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "golden" / "random_types"
ANSWERS = {"running", "failed"}
"""The outcomes that say what becomes of state."""
_OPENED = ("java.base/java.util", "java.base/java.lang", "java.base/java.time", "java.base/java.math")
_IN_ERROR = re.compile(r"[/\\](t\d+)[/\\]Job\.java:\d+: error")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What Flink did with the versions of a seed: by key, what was found and what should have been, as JSON."""

    seed: int
    flink: str
    place: str
    backend: str
    saved: str
    old: str
    new: str
    edits: tuple[str, ...]
    added: tuple[str, ...]
    outcome: str
    error: str = ""
    seen: dict[str, str] = {}
    expected: dict[str, str] = {}

    @property
    def restored(self) -> bool:
        """Whether every value was found, and has what OLD kept: all but the fields that OLD did not have."""
        same = (
            _without(json.loads(self.seen.get(key, "null")), self.added) == _without(json.loads(text), self.added)
            for key, text in self.expected.items()
        )
        return self.outcome == "running" and len(self.seen) == 3 and all(same)


def _without(value: Any, names: Sequence[str]) -> Any:
    """A value without some fields, whereever they are."""
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def records(flink: str) -> list[Record]:
    """What is recorded of a version of Flink."""
    with gzip.open(GOLDEN / f"{flink}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [msgspec.json.decode(line, type=Record) for line in lines]


def restored(flink: Any, java: Any, seeds: Iterable[int]) -> Iterator[Record]:
    """What Flink does with the versions of each seed; those that do not compile are left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = {seed: versions(seed) for seed in seeds}
        jars = compiled(folder, flink, made)
        told = [seed for seed in made if all(f"t{seed}/Job.class" in zipfile.ZipFile(jar).namelist() for jar in jars)]
        asked = folder / "asked"
        asked.write_text("".join(_asked(seed, made[seed]) for seed in told), encoding="utf-8")
        command = [
            str(java.home / "bin" / "java"),
            "-Xmx1500m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dlog4j2.level=OFF",
        ]
        command += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        command += [
            "-cp",
            os.pathsep.join([str(folder / "places"), *flink.classpath]),
            "places.RestoreTypes",
            *map(str, jars),
        ]
        with (
            asked.open() as lines,
            subprocess.Popen(
                command, stdin=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ) as process,
        ):
            assert process.stdout is not None
            for seed, line in zip(told, process.stdout, strict=False):
                given = {"seed": seed, "flink": "2.3.0", **msgspec.to_builtins(made[seed]), **json.loads(line)}
                yield msgspec.convert(given, Record)


def _asked(seed: int, one: Versions) -> str:
    return (
        json.dumps({"main": f"t{seed}.Job", "saved": one.saved, "options": {"state.backend.type": one.backend}}) + "\n"
    )


def compiled(folder: Path, flink: Any, made: Mapping[int, Versions | Record]) -> tuple[Path, Path]:
    """The jars of OLD and of NEW, each with the places; a class that is not Java is left out of its jar."""
    _compile(folder / "places", flink.classpath, sorted(map(str, HERE.glob("*.java"))))
    jars = []
    for side in ("old", "new"):
        sources = {}
        for seed, one in made.items():
            sources[f"t{seed}"] = path = folder / "src" / side / f"t{seed}" / "Job.java"
            path.parent.mkdir(parents=True)
            path.write_text(getattr(one, side), encoding="utf-8")
        classes = folder / side
        classpath = [str(folder / "places"), *flink.classpath]
        while wrong := _compile(classes, classpath, [str(path) for path in sources.values()]):
            for name in wrong:
                del sources[name]
        jars.append(folder / f"{side}.jar")
        with zipfile.ZipFile(jars[-1], "w") as jar:
            for root in (classes, folder / "places"):
                for file in sorted(root.rglob("*.class")):
                    jar.write(file, file.relative_to(root))
    return jars[0], jars[1]


def _compile(classes: Path, classpath: Sequence[str], sources: Sequence[str]) -> set[str]:
    """The packages that do not compile; classes are there where all do."""
    command = ["javac", "--release", "17", "-nowarn", "-g", "-Xmaxerrs", "10000", "-d", str(classes)]
    done = subprocess.run([*command, "-cp", os.pathsep.join(classpath), *sources], capture_output=True, text=True)
    found = set(_IN_ERROR.findall(done.stderr))
    assert done.returncode == 0 or found, done.stderr
    return found


def judged(given: Iterable[Record], flink: Any, java: Any) -> Iterator[tuple[Record, Report]]:
    """The records that say what becomes of state, and what the check says of them."""
    from compat.loader.jvm.messages import JarProgram

    told = [one for one in given if one.outcome in ANSWERS]
    with tempfile.TemporaryDirectory() as name:
        jars = compiled(Path(name), flink, {one.seed: one for one in told})
        asked = []
        for one in told:
            old, new = (JarProgram(path=str(jar), main_class=f"t{one.seed}.Job") for jar in jars)
            asked.append((old, new))
        for number, pair in built(asked, flink, java):
            yield told[number], verdict(pair, "programs", Path(), told[number].backend)
