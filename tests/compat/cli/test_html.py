"""``--output html=FILE`` of ``compat check`` and ``compat plan``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main

EXAMPLES = Path(__file__).parents[3] / "compat" / "examples"
OLD, NEW = str(EXAMPLES / "word_count" / "v1.py"), str(EXAMPLES / "word_count" / "v2.py")


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


def test_the_page_of_a_check_shows_the_programs_lines(page):
    assert run("check", OLD, NEW, "--output", f"html={page}", "--output", "concise").exit_code == 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "handed to another operator" in text
    assert "long_words = words.rebalance().filter" in text
    assert 'aria-label="Exchanges between subtasks of NEW' in text


def test_a_check_that_failed_is_a_page_too(page, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise ValueError('<b>')\n")
    assert run("check", OLD, str(broken), "--output", f"html={page}").exit_code == 2
    text = page.read_text(encoding="utf-8")
    assert "Not decided" in text
    assert "ValueError: &lt;b&gt;" in text


def test_rollback_gives_two_sections(page):
    run("check", OLD, NEW, "--rollback", "--output", f"html={page}")
    assert page.read_text(encoding="utf-8").count('<section class="section"') == 2


def test_the_page_of_a_plan(page):
    assert run("plan", NEW, "-o", f"html={page}").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "6 operators, 3 vertices, 6 subtasks, 2 slots" in text
    assert run("plan", NEW, "--format", "html").output == text


def test_a_plan_that_failed_says_so_on_the_page_and_by_its_code(page, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise ValueError('no')\n")
    result = run("plan", str(broken), "--output", f"html={page}")
    assert result.exit_code == 2
    assert "CMP901" in result.output
    assert "ValueError: no" in page.read_text(encoding="utf-8")


def test_a_file_must_be_named():
    assert "names no file" in run("plan", NEW, "--output", "html=").output
    assert run("check", OLD, NEW, "--output", "html=").exit_code == 2
