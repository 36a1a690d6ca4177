"""The command that moves OLD's state to where NEW looks for it, as whoever makes a check would type it."""

from __future__ import annotations

import shlex

from msgspec import Struct

SAVEPOINT = '"$SAVEPOINT"'
"""Stands for the path of a savepoint that is not known here: a variable of the shell, so that the line can be pasted."""


class Moving(Struct, frozen=True, kw_only=True):
    """The names that a person gives what moves state: the recipe, and the savepoint to write. ``options`` are repeated."""

    recipe: str = "recipe.yaml"
    out: str = "migrated"
    options: str = ""

    def command(self, savepoint: str | None, new: str, writer: str | None) -> str:
        """The command for a savepoint, of which ``writer`` is the program; None for either where it is not known."""
        path = SAVEPOINT if savepoint is None else shlex.quote(savepoint)
        named = [] if writer is None else [f"--names {shlex.quote(writer)}"]
        words = [path, shlex.quote(new), shlex.quote(self.out), *named, f"--recipe {shlex.quote(self.recipe)}"]
        return " ".join(["compat migrate", *words, *([self.options] if self.options else [])])
