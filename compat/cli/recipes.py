"""The recipes that commands read and write, and the messages about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from compat.migration.proposing import Proposal
from compat.migration.recipe import Open, Recipe, read_recipe
from compat.savepoint.operators import RequestError


def recipe_of(options: Mapping[str, Any]) -> Recipe | None:
    """The recipe of ``--recipe``, for the state given by ``-s``. Raises a usage error."""
    if options["recipe"] is None:
        return None
    if options["savepoint"] is None:
        raise click.UsageError("--recipe has no effect without -s: it migrates the state given by -s.")
    return given_recipe(options["recipe"])


def given_recipe(path: str) -> Recipe:
    """The recipe in the file given by ``--recipe``. Raises a usage error."""
    try:
        return read_recipe(path)
    except RequestError as error:
        raise click.BadParameter(str(error), param_hint="'--recipe'") from error


def write_recipe(path: Path, text: str, proposals: Sequence[Proposal]) -> str:
    """Write a recipe to a new file, and give its contents in words. Raises a usage error."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise click.UsageError(f"{path}: the recipe cannot be written: {error.strerror or error}.") from error
    questions = sum(isinstance(one.step, Open) for one in proposals)
    counted = (_counted(len(proposals) - questions, "step"), _counted(questions, "open question"))
    return f"{path}: {', '.join(counted)}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
