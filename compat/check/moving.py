"""The command that moves OLD's state to where NEW looks for it, as whoever makes a check would type it."""

from __future__ import annotations

import shlex

from msgspec import Struct

SAVEPOINT = '"$SAVEPOINT"'
"""Stands for the path of a savepoint that is not known here: a variable of the shell, so that the line can be pasted."""


class Moving(Struct, frozen=True, kw_only=True):
    """The names that a person gives what moves state: the recipe, and the savepoint to write.

    ``options`` are repeated where that is done, ``options_of_run`` where the job runs on Spark, and moves it as it starts.
    """

    recipe: str = "recipe.yaml"
    out: str = "migrated"
    options: str = ""
    options_of_run: str = ""

    def command(self, savepoint: str | None, new: str, writer: str | None) -> str:
        """The command for a savepoint, of which ``writer`` is the program; None for either where it is not known."""
        path = SAVEPOINT if savepoint is None else shlex.quote(savepoint)
        named = [] if writer is None else [f"--names {shlex.quote(writer)}"]
        words = [path, shlex.quote(new), shlex.quote(self.out), *named, f"--recipe {shlex.quote(self.recipe)}"]
        return " ".join(["compat migrate", *words, *filter(None, [self.options])])

    def restore(self, snapshot: str, new: str) -> str:
        """The command that starts a job on Spark from a snapshot whose state it moves."""
        words = [shlex.quote(new), f"-s {shlex.quote(snapshot)}", f"--recipe {shlex.quote(self.recipe)}"]
        return " ".join(["compat job run", *words, *filter(None, [self.options_of_run])])
