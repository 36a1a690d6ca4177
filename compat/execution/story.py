"""The parts of the stories of ``compat demo``: headings, texts, and commands that are really run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from compat.compiler.own_code import ROOT

REFUSED = 2


class Broken(Exception):
    """A command that ended otherwise than the story says."""


def begin(folder: str, files: Mapping[str, Path], story: Callable[[Path], None], *, made: Sequence[str] = ()) -> int:
    """Copy the files of a story into its folder, by their names there, and tell it; gives the exit code.

    A folder that has one of them, or of what the story makes (``made``), is left as it is.
    """
    home = Path(folder)
    if any((home / name).exists() for name in (*files, *made)):
        print(f"{folder} holds a demo already: remove it, or name another folder: compat demo FOLDER.", file=sys.stderr)
        return REFUSED
    home.mkdir(parents=True, exist_ok=True)
    for name, source in files.items():
        shutil.copy(source, home / name)
    try:
        story(home)
    except Broken as error:
        print(f"\nThe demo broke off: {error}", file=sys.stderr)
        return 1
    return 0


def heading(title: str) -> None:
    """Print the heading of a part of the story."""
    print(f"\n{title}", flush=True)


def text(said: str) -> None:
    """Print a text, indented."""
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
