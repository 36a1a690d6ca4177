"""The command that moves OLD's state to where NEW looks for it, as a user would type it."""

from __future__ import annotations

import shlex

from msgspec import Struct

SAVEPOINT = '"$SAVEPOINT"'
"""The placeholder for an unknown savepoint path: a variable of the shell, so that the line can be pasted."""


class Moving(Struct, frozen=True, kw_only=True):
    """The user's names for the move of state: the recipe, and the savepoint to write.

    ``options`` are repeated in the command that moves it, ``options_of_run`` in the start of a job on Spark, which
    moves it itself.
    """

    recipe: str = "recipe.yaml"
    out: str = "migrated"
    options: str = ""
    options_of_run: str = ""

    def command(self, savepoint: str | None, new: str, writer: str | None) -> str:
        """The command for a savepoint and its ``writer`` program; None for either of them that is unknown."""
        path = SAVEPOINT if savepoint is None else shlex.quote(savepoint)
        named = [] if writer is None else [f"--names {shlex.quote(writer)}"]
        words = [path, shlex.quote(new), shlex.quote(self.out), *named, f"--recipe {shlex.quote(self.recipe)}"]
        return " ".join(["compat migrate", *words, *filter(None, [self.options])])

    def restore(self, snapshot: str, new: str) -> str:
        """The command that starts a job on Spark from a snapshot whose state it moves."""
        words = [shlex.quote(new), f"-s {shlex.quote(snapshot)}", f"--recipe {shlex.quote(self.recipe)}"]
        return " ".join(["compat job run", *words, *filter(None, [self.options_of_run])])
