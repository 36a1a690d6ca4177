"""The README's commands for jobs in Java and SQL, in order, in a copy of the examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
CODES = {"check": "1", "plan": "0"}
"""Each pair of the section has a change that loses state."""


def commands() -> list[str]:
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("## Jobs in Java and SQL")[2].partition("\n## ")[0]
    )
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("compat ")]


def test_the_commands_of_the_section(flink: Any, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "compat" / "examples", tmp_path / "compat" / "examples")
    lines = commands()
    script = "\n".join(f'{line}\necho "EXIT $?"' for line in lines)
    beside = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{beside}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    codes = re.findall(r"EXIT (\d+)", done.stdout)
    assert codes == [CODES[line.split()[1]] for line in lines], done.stdout + done.stderr
    assert {"CMP404", "CMP102", "CMP701"} <= set(re.findall(r"CMP\d+", done.stdout))
