"""``compat check --fix``: the command line of the repair."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from compat.check.findings import Level
from compat.comparison import Outcomes
from compat.loader.inputs import InputError, opened

if TYPE_CHECKING:
    from compat.fix.repair import Neighbours


def require_source(new: str) -> None:
    """Refuse to write into a NEW that is no file of the working tree, or not the job's source. Raises a usage error."""
    if new.startswith("git:"):
        raise click.UsageError(f"--fix writes into NEW, and {new} is a file at a revision: name the file itself.")
    with suppress(InputError), opened(new) as given:
        if given.kind not in ("program", "topology"):
            raise click.UsageError(f"--fix writes into NEW, and {new} is a {given.kind}, not the job's source.")


def is_source(new: str) -> bool:
    """Whether NEW is a file of the working tree that holds the job's source."""
    try:
        require_source(new)
    except click.UsageError:
        return False
    return os.path.isfile(new)


def fixed(
    results: list[Outcomes],
    new: str,
    again: Callable[[], list[Outcomes]],
    fails: Callable[[Level], bool],
    *,
    aside: bool,
    neighbours: Neighbours | None = None,
) -> list[Outcomes]:
    """Repair NEW and check again; with ``aside``, progress goes to stderr, as stdout carries a report for programs."""
    with _libcst():
        from compat.fix.repair import repair
    return repair(results, new, again, fails, lambda text: click.echo(text, nl=False, err=aside), neighbours)


def previewed(results: list[Outcomes], new: str, fails: Callable[[Level], bool], *, aside: bool) -> None:
    """Show the edits that a repair of NEW would begin with, and write nothing."""
    with _libcst():
        from compat.fix.repair import preview
    preview(results, new, fails, lambda text: click.echo(text, nl=False, err=aside))


@contextmanager
def _libcst() -> Iterator[None]:
    """Turns a missing libcst into a usage error."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "libcst":
            raise
        raise click.UsageError("--fix needs libcst: pip install libcst.") from error
