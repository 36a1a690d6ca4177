"""Repositories of git for tests, which the settings of whoever runs them do not reach."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(*arguments: str, folder: str | Path = ".") -> None:
    """Run git in a folder."""
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **_SETTINGS}, check=True, capture_output=True)


def committed(folder: str | Path = ".") -> None:
    """Make a folder a repository, with all that is in it as the first commit of ``main``."""
    git("init", "-q", "-b", "main", folder=folder)
    git("add", "-A", folder=folder)
    git("commit", "-q", "-m", "first", folder=folder)
