"""What a release needs: one version everywhere, addresses, the licences of all that is installed, each Python."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from compat import __version__
from tests.test_pythons import TESTING

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RELEASE = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
FOR_DEVELOPERS = {"test", "browser", "lint", "mutants"}


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["github-actions", "gitlab", "jenkins", "pre-commit"])
def test_pages_name_this_version(page: str) -> None:
    assert set(re.findall(r"\bv(\d+\.\d+\.\d+)\b", text(f"docs/pages/howto/{page}.md"))) == {__version__}


def test_the_changelog_begins_with_this_version_or_with_what_is_to_come() -> None:
    first, *others = re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)
    assert __version__ in (first, *others[:1])
    assert first in (__version__, "Unreleased")


def test_each_python_is_tested_before_a_release_and_named() -> None:
    assert RELEASE["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert f"| Python | {', '.join(PYTHONS)};" in text("docs/pages/reference/stability.md")


def test_what_the_suite_of_each_python_needs_is_installed() -> None:
    (step,) = [step["run"] for step in RELEASE["test"]["steps"] if "test_pythons" in step.get("run", "")]
    assert all(f"'{one}'" in step for one in TESTING)


def test_the_addresses_are_those_of_the_repository_that_releases(tmp_path: Path) -> None:
    (step,) = [step for step in RELEASE["build"]["steps"] if "pyproject.toml" in step.get("run", "")]
    (tmp_path / "pyproject.toml").write_text(text("pyproject.toml"))
    given = {"GITHUB_SERVER_URL": "https://code.example", "GITHUB_REPOSITORY": "us/compat"}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env={**os.environ, **given}, check=True)
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Source"] == "https://code.example/us/compat"
    assert urls["Changelog"] == "https://code.example/us/compat/blob/main/CHANGELOG.md"


def test_the_licences_of_all_that_users_install_are_told() -> None:
    extras = {"none": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    installed = {
        (extra, found[0].lower())
        for extra, wanted in extras.items()
        for one in wanted
        if extra not in FOR_DEVELOPERS and (found := re.match(r"[\w.-]+", one)) and found[0] != "stream-compat"
    }
    told = re.findall(
        r"^\| `?([a-z]+)`? \| ([\w.-]+) \| (.+) \|$", text("docs/pages/reference/licences.md"), re.MULTILINE
    )
    assert {(extra, package) for extra, package, _ in told if extra != "extra"} == installed


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_what_the_forge_reads_can_be_read(path: Path) -> None:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert "jobs" in read or "body" in read or read == {"blank_issues_enabled": False}
