"""The README as a stranger reads it: each section typed as it stands there, in a fresh clone and a fresh environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WHOLE_SUITE = "Run the tests"
"""The section that runs all tests, this one too."""

FINDS = re.compile(r"(^|/)compat (check|promote|demo)\b")
"""The commands that may end with exit code 1, as what they show is findings."""


def sections() -> dict[str, list[str]]:
    """The console blocks below each heading."""
    parts = (part.partition("\n") for part in README.split("\n## ")[1:])
    found = {title: re.findall(r"```console\n(.*?)```", text, re.DOTALL) for title, _, text in parts}
    return {title: blocks for title, blocks in found.items() if blocks}


def test_the_short_output_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("compat.report.following._is_installed", lambda module: False)  # the command installs no extra
    monkeypatch.setattr("sys.executable", str(ROOT / ".venv" / "bin" / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    command = sections()["Two commands"][0].rpartition(".venv/bin/compat ")[2]
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 1
    assert result.stdout == shown
    assert len(shown.splitlines()) <= 26


def test_it_is_read_in_two_minutes() -> None:
    """Shown output and code aside, at a reader's 240 words a minute."""
    assert len(re.sub(r"```.*?```", "", README, flags=re.DOTALL).split()) < 2 * 240 + 120


@pytest.mark.parametrize("title", sections())
def test_each_section_installs_what_it_uses(title: str) -> None:
    first, *_ = sections()[title]
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("title", [title for title in sections() if title != WHOLE_SUITE])
def test_a_section_typed_as_it_stands(title: str, tmp_path: Path) -> None:
    """Needs the package index; what is installed is cached by pip."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    beside = tmp_path / "bin"
    beside.mkdir()
    (beside / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "COMPAT_CACHE") if name in os.environ}
    kept |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP"))}
    lines = [line for block in sections()[title] for line in block.splitlines()]
    script = "set -m\n" + "\n".join(f'{line}\necho "EXIT $?"' for line in lines)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env={**kept, "PATH": f"{beside}:/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    told = list(zip(lines, map(int, re.findall(r"^EXIT (\d+)$", done.stdout, re.MULTILINE)), strict=True))
    wrong = [(line, code) for line, code in told if code not in ((0, 1) if FINDS.search(line) else (0,))]
    assert not wrong, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    shutil.rmtree(clone)
