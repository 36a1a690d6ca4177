"""``compat check --against REF FILE…``: each job against the same file at a revision, as hooks and actions need it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

import click

from compat.check.undecided import Undecided
from compat.comparison import Outcomes
from compat.loader.failure import Failure, Side, Undecidable


def pairs(reference: str, files: Sequence[str]) -> list[tuple[str, str]]:
    """OLD and NEW of each file that is there at the revision; a note on stderr names those that are new.

    Raises a usage error for a revision or a folder that git does not know, and for a file that is nowhere.
    """
    if reference.startswith("-") or not _git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}"):
        raise click.UsageError(f"--against: git knows no revision {reference!r} here.")
    known = []
    for file in dict.fromkeys(files):
        path = os.path.relpath(file)
        if _git("cat-file", "-e", f"{reference}:./{path}"):
            known.append((f"git:{reference}:{path}", file))
        elif not os.path.exists(file):
            raise click.UsageError(f"There is no file {file!r}, neither here nor at {reference}.")
        else:
            click.echo(f"{file} is not checked: {reference} has no such file.", err=True)
    return known


def jobs_only(results: Sequence[Outcomes]) -> list[Outcomes]:
    """The results without those of files that submitted no job at the revision; a note on stderr names them."""
    kept = []
    for result in results:
        (first, *_) = result.outcomes
        if isinstance(first, Undecided) and _had_no_job(first.failures):
            click.echo(f"{first.new} is not checked: {first.old} submits no job.", err=True)
        else:
            kept.append(result)
    return kept


def _had_no_job(failures: Sequence[Failure]) -> bool:
    return failures[0].side is Side.OLD and all(failure.rule == Undecidable.NO_JOB for failure in failures)


def _git(*arguments: str) -> bool:
    """Whether a command of git succeeds."""
    try:
        return subprocess.run(["git", *arguments], capture_output=True, check=False).returncode == 0
    except OSError as error:
        raise click.UsageError(f"--against needs git: {error}.") from error
