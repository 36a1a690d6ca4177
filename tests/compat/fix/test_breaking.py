"""Statements that an added call makes too long: they are broken as formatters break them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compat.check.findings import Fix
from compat.fix.breaking import DEFAULT_WIDTH, width_of
from compat.fix.python import rewrite
from tests.compat.fix.test_python import end_of

FIX = Fix(text="Do it.")
HASH = '"cbc357ccb763df2852fee8c4fc7d55f2"'
SOURCE = "env.from_source(NumberSequenceSource(1, 100), no_watermarks(), 'numbers')".replace("'", '"')
CHAIN = "words.rebalance().filter(lambda word: len(word) > 2)"

CASES = {
    "an assigned chain": (f"long_words = {CHAIN}\n", CHAIN),
    "an assigned chain with a long call": (f"numbers = {SOURCE}\n", SOURCE),
    "a chain that goes on": (f"long_words = {CHAIN}.map(upper)\n", CHAIN),
    "an expression": (f"{CHAIN}\n", CHAIN),
    "an expression that ends without arguments": (f"{CHAIN}.print()\n", CHAIN),
    "in a function": (f"def build():\n    if True:\n        long_words = {CHAIN}\n    return 1\n", CHAIN),
    "returned": (f"def build():\n    return {CHAIN}\n", CHAIN),
    "with a comment": (f"long_words = {CHAIN}  # long\n", CHAIN),
}


def edited(source: str, call: str, width: int = DEFAULT_WIDTH, **settings: str) -> str:
    calls = {end_of(source, call): {method: (value, FIX) for method, value in settings.items()}}
    return rewrite(source.encode(), calls, {}, width).source.decode()


def formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def lines(source: str) -> list[str]:
    """The lines with something on them."""
    return [line for line in source.splitlines() if line]


@pytest.mark.parametrize(
    "settings", [{"set_uid_hash": HASH}, {"uid": '"words"', "set_uid_hash": HASH}], ids=["one", "two"]
)
@pytest.mark.parametrize(("source", "call"), CASES.values(), ids=CASES)
def test_lines_are_broken_as_a_formatter_does(source: str, call: str, settings: dict[str, str]) -> None:
    assert lines(formatted(source)) == lines(source)
    after = edited(source, call, **settings)
    assert max(map(len, after.splitlines())) <= DEFAULT_WIDTH
    assert lines(formatted(after)) == lines(after)


def test_what_fits_stays_on_its_line() -> None:
    source = "words = s.map(f)\n"
    assert edited(source, "s.map(f)", uid='"w"') == 'words = s.map(f).uid("w")\n'
    assert edited(f"long_words = {CHAIN}\n", CHAIN, 200, set_uid_hash=HASH).count("\n") == 1


def test_what_was_too_long_before_has_its_own_style() -> None:
    source = f"long_words = {CHAIN}.map(lambda word: word.upper().lower().upper().lower().strip())\n"
    assert len(source) > DEFAULT_WIDTH
    assert edited(source, CHAIN, set_uid_hash=HASH).count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text", "width"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.black]\nline-length = 120\n", 120),
        ("ruff.toml", "line-length = 79\n", 79),
        ("pyproject.toml", "[tool.other]\n", DEFAULT_WIDTH),
        ("pyproject.toml", "not TOML", DEFAULT_WIDTH),
        ("pyproject.toml", "[tool.ruff]\nline-length = 'wide'\n", DEFAULT_WIDTH),
    ],
)
def test_the_project_says_how_wide(tmp_path: Path, name: str, text: str, width: int) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "jobs").mkdir()
    assert width_of(tmp_path / "jobs" / "job.py") == width
