"""Recipes that commands write to files, and what they say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from compat.migration.proposing import Proposal
from compat.migration.recipe import Open


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
