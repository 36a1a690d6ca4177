"""Paragraphs are broken between words, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from compat.report.page import broken

LONG = "/tmp/a-folder-with-a-long-name/and-another-one/job.py:12:"


def lines(text: str, width: int) -> list[str]:
    return [line.plain for line in broken(Text(text), width)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("", 10, [""]),
        ("one two three", 13, ["one two three"]),
        ("one two three", 12, ["one two", "three"]),
        (f"source: {LONG} it", 20, ["source:", LONG, "it"]),
        (LONG, 5, [LONG]),
        ("  one two three", 12, ["  one two", "three"]),
        ("   one two", 9, ["   one", "two"]),
        ("時間 時間 時間", 9, ["時間 時間", "時間"]),
    ],
)
def test_lines(text: str, width: int, expected: list[str]) -> None:
    assert lines(text, width) == expected


@given(st.lists(st.text(alphabet="ab-/ß時", min_size=1, max_size=30), max_size=30), st.integers(1, 60))
def test_no_word_is_broken_lost_or_wider_than_it_need_be(words: list[str], width: int) -> None:
    found = lines(" ".join(words), width)
    assert " ".join(found).split() == words
    assert all(cell_len(line) <= width or " " not in line for line in found)


def test_styles_go_with_their_words() -> None:
    text = Text("bold ", style="").append("green words", style="green")
    assert [line.spans[-1].style for line in broken(text, 11)] == ["green", "green"]
