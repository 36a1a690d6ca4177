"""Options of ``compat check`` for savepoints: names for their operators, and all savepoints of a folder at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from compat.comparison import Comparison, Outcomes, compare_savepoints

F = TypeVar("F", bound=Callable[..., Any])


def savepoint_options(function: F) -> F:
    """The options ``--names`` and ``--savepoints``."""
    for option in (
        click.option(
            "--savepoints",
            type=click.Path(exists=True, file_okay=False),
            metavar="DIR",
            help="Check NEW against every savepoint below a folder: compat check --savepoints DIR NEW.",
        ),
        click.option(
            "--names",
            metavar="FILE",
            help="The names, uids and types of a savepoint's operators: the program that wrote it, or a table "
            "of uids (.txt, .csv, .tsv).",
        ),
    ):
        function = option(function)
    return function


def check_all(comparison: Comparison, meanwhile: Callable[[], object]) -> list[Outcomes]:
    """The outcomes for every savepoint below the folder given as OLD. Raises a usage error if there is none."""
    from compat.savepoint.folders import find_savepoints

    folder = comparison.old
    found = find_savepoints(folder)
    if not found:
        raise click.UsageError(f"There is no savepoint below {folder}: no file _metadata.")
    return compare_savepoints([os.path.normpath(path) for path in found], comparison, meanwhile)
