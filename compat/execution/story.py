"""What the stories of ``compat demo`` are told with: headings, texts, and commands that are really run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from compat.compiler.ours import ROOT


class Broken(Exception):
    """A command that did not end as the story says."""


def heading(title: str) -> None:
    """Begin a part of the story."""
    print(f"\n{title}", flush=True)


def text(said: str) -> None:
    """Say something, set in."""
    print("\n".join(f"   {line}" for line in said.splitlines()), flush=True)


def command(home: Path, *arguments: str, ends: int = 0, lines: int | None = None) -> str:
    """Run a command of ours in the demo's folder and show what it printed, or the first ``lines`` of it; gives all of it."""
    print(f"   $ compat {' '.join(_quoted(arguments))}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "COMPAT_STORE"}
    environment["PYTHONPATH"] = os.pathsep.join([ROOT, *filter(None, [environment.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "compat", *arguments], cwd=home, env=environment, capture_output=True, text=True
    )
    if done.returncode != ends or not done.stdout:
        raise Broken(f"the command ended with exit code {done.returncode}:\n{done.stderr or done.stdout}")
    text("\n".join(done.stdout.rstrip().splitlines()[:lines]))
    return done.stdout


def _quoted(arguments: Sequence[str]) -> list[str]:
    return [f"'{text}'" if " " in text else text for text in arguments]
