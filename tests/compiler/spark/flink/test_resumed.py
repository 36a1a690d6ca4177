"""Programs that real PyFlink stopped with a savepoint go on from it here, and give what they gave there when they went on.

See `tests/golden/flink_resumed`.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden" / "flink_resumed"
RECORDED = sorted(file.stem for file in GOLDEN.glob("*.json"))
SAMPLE = [
    "states-process-rocksdb-native",
    "windows-thread-hashmap-native",
    "sessions-process-hashmap-canonical",
    "keys-thread-hashmap-native",
    "cascade-thread-hashmap-canonical-1.20",
    "joins-process-hashmap-canonical-1.20",
    "triggers-process-hashmap-canonical",
]


def resumed(store, cases, parallelism):
    """The lines that each case gives here, sorted."""
    arguments = []
    for case in cases:
        program, mode, *_ = case.split("-")
        arguments += [str(GOLDEN / case), str(GOLDEN / "programs" / f"{program}.py"), mode, str(parallelism)]
    script = Path(__file__).with_name("resume.py")
    command = [sys.executable, str(script), str(store), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))


def shortened(line):
    """As the recorder keeps it: a line, or its beginning and a digest of all of it."""
    return line if len(line) < 300 else f"{line[:100]}… {hashlib.sha256(line.encode()).hexdigest()[:32]}"


def check(found):
    for case, whole in found.items():
        lines = list(map(shortened, whole))
        recorded = json.loads((GOLDEN / f"{case}.json").read_text())["lines"]
        assert len(recorded) > 10
        assert Counter(lines) - Counter(recorded) == Counter(), case
        assert Counter(recorded) - Counter(lines) == Counter(), case


def test_a_sample_goes_on_as_in_pyflink(tmp_path):
    check(resumed(tmp_path, [case for case in SAMPLE if case in RECORDED], 2))


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [1, 3])
def test_all_go_on_as_in_pyflink_at_any_parallelism(tmp_path, parallelism):
    check(resumed(tmp_path, RECORDED, parallelism))
