"""The common parts of commands that rewrite a savepoint: options, messages about its files, and refusals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from compat.cli.spelled import job_number
from compat.escaping import no_command, visible
from compat.loader.inputs import InputError

if TYPE_CHECKING:
    from compat.state.flink import Remapped

F = TypeVar("F", bound=Callable[..., Any])
REFUSED = 2


def rewriting_options(function: F) -> F:
    """The options ``--names``, ``--job-number`` and ``--copy``."""
    for option in (
        click.option(
            "--copy", is_flag=True, help="Copy the state files too, so that OUT needs nothing else and can be moved."
        ),
        job_number,
        click.option(
            "--names",
            metavar="FILE",
            help="Names and uids of the operators: the program that wrote the savepoint, or a table.",
        ),
    ):
        function = option(function)
    return function


@contextmanager
def refusals() -> Iterator[None]:
    """End the command with the reason if something cannot be read, done or written."""
    from compat.loader.failure import Undecidable
    from compat.savepoint.operators import RequestError
    from compat.state.flink import NotWritten, SavepointError

    try:
        yield
    except (NotWritten, RequestError) as error:
        refuse(*str(error).splitlines())
    except SavepointError as error:
        refuse(f"{Undecidable.SAVEPOINT_UNREADABLE}: {error}")
    except InputError as error:
        refuse(*error.told.splitlines())


def say_files(made: Remapped, path: str, *, written: bool) -> None:
    """Print which state files were copied, or are still needed where they are."""
    if made.copies:
        total = sum(copy.size for copy in made.copies)
        say(f"{len(made.copies)} state files {'were' if written else 'would be'} copied, {total:,} bytes.")
    elif made.references:
        say(
            f"It refers to the state files of {path}: keep that as long as this is used, and do not restore with --claim."
        )


def say(line: str) -> None:
    """Print a line that a terminal shows completely."""
    click.echo(no_command(visible(line)))


def refuse(*lines: str) -> NoReturn:
    """End the command with a reason."""
    for line in lines:
        click.echo(no_command(visible(line)), err=True)
    sys.exit(REFUSED)
