"""The page on machines without a network, line by line, where there is none."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.needs import Need, offline, without

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "pages" / "offline.md"


def run(*command: str, folder: Path) -> str:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_installed_and_used_without_a_network(tmp_path: Path) -> None:
    """Slow: it makes wheels of all that is needed, and installs them."""
    alone = offline()
    fill, install, *_ = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    if subprocess.run(["sh", "-ec", fill], cwd=clone, check=False).returncode:
        without(Need.PACKAGES)
    away = tmp_path / "away"
    away.mkdir()
    (clone / "wheels").rename(away / "wheels")
    told = run(*alone, "sh", "-ec", install, folder=away)
    assert "COMPATIBLE: v2_fixed.py restores the state of v1.py" in told
    assert "now: 167    in a run that never stopped: 167" in told
