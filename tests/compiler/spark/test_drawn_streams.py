"""Streaming programs that are drawn give what PyFlink gives, as recorded.

``python -m tests.compiler.spark.test_drawn_streams PYTHON FIRST END`` records the results of a PyFlink for some seeds: in
thread mode, and of programs that it does not run so, in process mode, unless their keys are alike. It needs javac.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.spark.drawn_streams import ENDS, STEPS, Drawn, drawn_stream
from tests.compiler.spark.test_against_pyflink import run_here, run_there

RECORDED = Path(__file__).parents[2] / "golden" / "streams" / "pyflink_2.3.json"
GENERATOR = Path(__file__).with_name("EachRecord.java")
AT_ONCE = 10
"""As many programs run in one PyFlink."""


def recorded() -> dict[str, dict[str, Any]]:
    """By seed, the checksum of the program and what PyFlink 2.3 gave."""
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())
    return found


def checksum(seed: int | str) -> int:
    """That of a program, so that none is taken for another when programs are drawn otherwise."""
    return zlib.crc32(drawn_stream(int(seed)).encode())


def differences(seeds: Iterable[str], folder: Path, epoch_records: int) -> list[str]:
    """The programs of some seeds that give something else here, with both results."""
    known, seeds = recorded(), list(seeds)
    ours = run_here([drawn_stream(int(seed)) for seed in seeds], folder, epoch_records)
    return [
        f"seed {seed}, here: {here}\nin PyFlink: {known[seed]['gives']}"
        for seed, here in zip(seeds, ours, strict=True)
        if here != known[seed]["gives"]
    ]


def test_the_recorded_programs_are_those_that_are_drawn() -> None:
    assert {seed: checksum(seed) for seed in recorded()} == {seed: each["of"] for seed, each in recorded().items()}
    programs = [drawn_stream(int(seed)) for seed in recorded()]
    for line in [*(step.text for step in STEPS.values()), *ENDS.values()]:
        assert any(line.partition("{")[0] in program for program in programs), line
    assert sum(bool(each["gives"]) for each in recorded().values()) > len(programs) * 0.8


@pytest.mark.parametrize("epoch_records", [0, 7])
def test_some_give_what_pyflink_gives(tmp_path: Path, epoch_records: int) -> None:
    """Whatever the size of epochs."""
    assert not differences(list(recorded())[:30], tmp_path, epoch_records)


@pytest.mark.slow
@pytest.mark.parametrize("epoch_records", [0, 1, 5])
def test_all_give_what_pyflink_gives(tmp_path: Path, epoch_records: int) -> None:
    assert not differences(recorded(), tmp_path, epoch_records)


def generator_jar(python: str, folder: Path) -> str:
    """The watermark generator that PyFlink has none of, compiled for it."""
    code = "import os, pyflink; print(os.path.dirname(pyflink.__file__))"
    home = Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    (dist,) = (home / "lib").glob("flink-dist-*.jar")
    subprocess.run(["javac", "--release", "11", "-cp", dist, "-d", folder, GENERATOR], check=True)
    jar = folder / "each_record.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for each in folder.glob("*.class"):
            archive.write(each, each.name)
    return jar.as_uri()


def record(python: str, seeds: list[int], folder: Path) -> dict[str, dict[str, Any]]:
    """What a PyFlink gives for some seeds, without those whose programs fail there."""
    programs, jar = {seed: drawn_stream(seed) for seed in seeds}, generator_jar(python, folder)
    found: dict[int, Any] = {}
    for mode in ("thread", "process"):
        left = [seed for seed in seeds if not isinstance(found.get(seed), list)]
        if mode == "process":
            left = [seed for seed in left if not Drawn(seed).keys.alike]  # which are not told apart there
        for start in range(0, len(left), AT_ONCE):
            part = left[start : start + AT_ONCE]
            given = run_there(python, [programs[seed] for seed in part], folder, mode, jar)
            found.update(zip(part, given, strict=True))
    for seed, given in found.items():
        if isinstance(given, str):
            print(f"{seed} fails in PyFlink: {given}", file=sys.stderr)
    return {str(seed): {"of": checksum(seed), "gives": found[seed]} for seed in seeds if isinstance(found[seed], list)}


def main(python: str, first: str, end: str) -> None:
    """Record programs beside those that are recorded."""
    seeds = list(range(int(first), int(end)))
    known = {seed: each for seed, each in recorded().items() if each["of"] == checksum(seed)}
    with tempfile.TemporaryDirectory() as folder:
        known |= record(python, [seed for seed in seeds if str(seed) not in known], Path(folder))
    lines = (f"{json.dumps(seed)}: {json.dumps(known[seed])}" for seed in sorted(known, key=int))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
