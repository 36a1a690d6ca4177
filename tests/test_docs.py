"""The documentation, in the repository and as a site: every rule and command is in it, and its links lead somewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click
import pytest

from compat import settings
from compat.check.catalogue import RULES
from compat.cli import main
from compat.diagnosis.catalogue import ENTRIES

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "pages"
READ = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(PAGES.rglob("*.md")),
]
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def generated() -> ModuleType:
    spec = spec_from_file_location("generated", ROOT / "docs" / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_generated_parts_are_up_to_date() -> None:
    module = generated()
    made = module.made()
    assert len(made) > len(RULES) + 5
    stale = [name for name, text in made.items() if not _holds(PAGES / name, text)]
    assert not stale, "python docs/generated.py writes them"
    assert not module.leftover()


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def test_a_generated_part_is_made_in_its_place_and_links_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = generated()
    monkeypatch.setattr(module, "PAGES", tmp_path)
    (tmp_path / "reference" / "rules").mkdir(parents=True)
    stale = tmp_path / "reference" / "rules" / "CMP000.md"
    stale.touch()
    (tmp_path / "howto").mkdir()
    written = tmp_path / "howto" / "page.md"
    written.write_text("Before.\n\n<!-- generated: rules -->\n\nold\n\n<!-- end -->\n\nBehind.\n", encoding="utf-8")
    module.write()
    once = written.read_text(encoding="utf-8")
    assert once.startswith("Before.\n\n<!-- generated: rules -->\n")
    assert once.endswith("<!-- end -->\n\nBehind.\n")
    assert "\nold\n" not in once
    assert "](../reference/rules/CMP103.md)" in once
    module.write()
    assert written.read_text(encoding="utf-8") == once
    assert not stale.exists()


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_in_the_repository(path: Path) -> None:
    """To a file that is committed, and to a heading that is there: as a host shows it, without a site."""
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        found = path if not target else (path.parent / target).resolve()
        if not found.exists() or (anchor and anchor not in headings(found)) or found.resolve() not in committed():
            dead.append(link)
    assert not dead


@cache
def committed() -> frozenset[Path]:
    """The files that git knows, and their folders; all, where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.splitlines()] if listed.returncode == 0 else [ROOT, *ROOT.rglob("*")]
    return frozenset(each.resolve() for file in files for each in (file, *file.parents))


@cache
def headings(path: Path) -> frozenset[str]:
    """The anchors of a page, as hosts of repositories make them."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles)


def test_every_page_is_in_the_navigation(site: Path) -> None:
    start = page(site, ".")
    for path in PAGES.rglob("*.md"):
        name = path.relative_to(PAGES).with_suffix("").as_posix()
        address = "." if name == "index" else name.removesuffix("/index") + "/"
        assert f'href="{address}"' in start, name


def test_the_index_leads_to_every_page() -> None:
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    pages = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md") if not path.stem.startswith("CMP")}
    assert pages - {"index.md"} == set(re.findall(r"\]\(([^)#]+)", index)) & pages


def test_every_rule_has_a_page(site: Path) -> None:
    index = page(site, "reference/rules")
    for rule in RULES.values():
        assert f'href="{rule.id}/"' in index
        assert rule.name in page(site, f"reference/rules/{rule.id}")


def test_every_command_is_there(site: Path) -> None:
    commands = page(site, "reference/commands")
    for name in main.list_commands(click.Context(main)):
        assert f'id="compat-{name}"' in commands


def test_records_and_outputs_are_there(site: Path) -> None:
    proof = page(site, "explanation/proof")
    assert "operator_removed" in proof
    assert "avro_field_added_default" in proof
    assert "slotSharingGroup" in page(site, "reference/formats")


def test_every_exception_is_there_and_the_headings_are_its_words(site: Path) -> None:
    told = html.unescape(page(site, "reference/exceptions"))
    for entry in ENTRIES:
        assert entry.title in told, entry.name
    text = (PAGES / "reference" / "exceptions.md").read_text(encoding="utf-8")
    titles = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert len(titles) > 20
    for title in titles:
        assert any(title in entry.title for entry in ENTRIES), title


def test_nothing_tells_where_it_was_built(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert str(ROOT) not in path.read_text(encoding="utf-8"), path


def test_the_settings_that_are_shown_are_read(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (PAGES / "reference/settings.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(shown, encoding="utf-8")
    found = settings.find(tmp_path)
    assert (found.jobs, found.against) == (("jobs/**/*.py",), "origin/main")
    assert [(one.path, one.args) for one in found.entries] == [
        ("jobs/orders.py", "--topic orders"),
        ("legacy/*.py", ""),
    ]
