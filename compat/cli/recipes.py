"""Recipes that commands write to files, and what they say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from compat.migration.proposing import Proposal
from compat.migration.recipe import Open, Recipe, read_recipe
from compat.savepoint.operators import RequestError


def recipe_of(options: Mapping[str, Any]) -> Recipe | None:
    """The recipe that ``--recipe`` names, for the state that ``-s`` does. Raises a usage error."""
    if options["recipe"] is None:
        return None
    if options["savepoint"] is None:
        raise click.UsageError("--recipe has no effect without -s: it says what becomes of that state.")
    return given_recipe(options["recipe"])


def given_recipe(path: str) -> Recipe:
    """The recipe in the file that ``--recipe`` names. Raises a usage error."""
    try:
        return read_recipe(path)
    except RequestError as error:
        raise click.BadParameter(str(error), param_hint="'--recipe'") from error


def write_recipe(path: Path, text: str, proposals: Sequence[Proposal]) -> str:
    """Write a recipe to a file that is not there yet; gives what is in it. Raises a usage error."""
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
