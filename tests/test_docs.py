"""The documentation builds from a clone, with every rule and every command in it, and its links lead somewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from compat.check.catalogue import RULES
from compat.cli import main
from compat.diagnosis.catalogue import ENTRIES

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with all warnings as errors: MkDocs warns of links and anchors that lead nowhere."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def page(site: Path, path: str) -> str:
    return (site / path / "index.html").read_text(encoding="utf-8")


def test_every_rule_has_a_page(site: Path) -> None:
    index = page(site, "rules")
    for rule in RULES.values():
        assert f'href="{rule.id}/"' in index
        assert rule.name in page(site, f"rules/{rule.id}")


def test_every_command_is_there(site: Path) -> None:
    commands = page(site, "cli")
    for name in main.list_commands(click.Context(main)):
        assert f'id="compat-{name}"' in commands


def test_records_and_outputs_are_there(site: Path) -> None:
    proof = page(site, "proof")
    assert "operator_removed" in proof
    assert "avro_field_added_default" in proof
    assert "CMP103" in page(site, ".")
    assert "slotSharingGroup" in page(site, "formats")


def test_every_exception_is_there_and_the_headings_are_its_words(site: Path) -> None:
    failures = html.unescape(page(site, "failures"))
    for entry in ENTRIES:
        assert entry.title in failures, entry.name
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/pages/failures.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) > 20
    for heading in headings:
        assert any(heading in entry.title for entry in ENTRIES), heading


def test_nothing_tells_where_it_was_built(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert str(ROOT) not in path.read_text(encoding="utf-8"), path


def test_no_page_is_committed_that_is_made() -> None:
    pages = ROOT / "docs" / "pages"
    assert not list(pages.glob("rules/CMP*"))
    assert all("<!-- generated:" in (pages / name).read_text(encoding="utf-8") for name in ("cli.md", "proof.md"))
