"""``compat check --fix``: what the command line adds to the repair."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import click

from compat.check.findings import Level
from compat.comparison import Outcomes
from compat.loader.inputs import InputError, opened


def require_source(new: str) -> None:
    """Refuse to write into what is no file of the working tree, or no source. Raises a usage error."""
    if new.startswith("git:"):
        raise click.UsageError(f"--fix writes into NEW, and {new} is a file at a revision: name the file itself.")
    with suppress(InputError), opened(new) as given:
        if given.kind not in ("program", "topology"):
            raise click.UsageError(f"--fix writes into NEW, and {new} is a {given.kind}, not the job's source.")


def fixed(
    results: list[Outcomes],
    new: str,
    again: Callable[[], list[Outcomes]],
    fails: Callable[[Level], bool],
    *,
    aside: bool,
) -> list[Outcomes]:
    """Repair NEW and check again; ``aside`` tells of it on stderr, where a report for programs goes to stdout."""
    try:
        from compat.fix.repair import repair
    except ModuleNotFoundError as error:
        if error.name != "libcst":
            raise
        raise click.UsageError("--fix needs libcst: pip install 'stream-compat[fix]'.") from error
    return repair(results, new, again, fails, lambda text: click.echo(text, nl=False, err=aside))
