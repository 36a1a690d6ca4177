"""A recipe for a job on Spark: its steps are applied while a snapshot in Delta is restored, with the names of the snapshot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.moving import Moves
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.compiler.spark.driver.saved import SavedOperator
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.moved_plans import digest_of
from compat.migration.recipe import ConvertKey, ConvertState, ConvertWindows, DropKeys, Recipe
from compat.migration.spark_steps import resolved
from compat.savepoint.operators import RequestError
from compat.state.flink.merging import Rule


class SparkRecipe(Struct, frozen=True):
    """A recipe applied at a restore (`compat.compiler.spark.driver.options.Recipe`).

    ``checked`` is the digest of OLD's plan after the recipe, from an earlier check: the restored state has to match it.
    ``load`` are the options that functions of the recipe run with.
    """

    recipe: Recipe
    checked: str | None = None
    load: LoadOptions = LoadOptions()

    def moves(
        self, saved: Mapping[str, SavedOperator], old_plan: dict[str, Any] | None, new_plan: dict[str, Any]
    ) -> Moves:
        """The effect on saved state. Raises RestoreRefused for steps that do not fit, or cannot be done in Delta."""
        try:
            made = self._moves(saved, old_plan, new_plan)
        except RequestError as error:
            raise RestoreRefused(str(error)) from None
        found = None if made.plan is None else digest_of(made.plan)
        if self.checked is not None and found != self.checked:
            raise RestoreRefused(
                f"The recipe makes another state of this snapshot than the one that was checked: {found}, and not "
                f"{self.checked}. Check it again."
            )
        return made

    def _moves(
        self, saved: Mapping[str, SavedOperator], old_plan: dict[str, Any] | None, new_plan: dict[str, Any]
    ) -> Moves:
        stack, named = ExitStack(), list(self._functions())
        for function in named:
            if not os.path.isfile(function.rpartition(":")[0]):
                raise RequestError(f"There is no function {function} on this machine, where the state is restored.")
        found = resolved(self.recipe, saved, new_plan, Functions(self.load, stack))
        return Moves(
            saved=found.afterwards(),
            plan=None if old_plan is None else found.moved(old_plan),
            ids=found.ids,
            states=found.states,
            changes=found.changes,
            keys=found.keys,
            here=bool(named),
            end=stack.close,
        )

    def _functions(self) -> Iterator[str]:
        """The functions that the recipe names."""
        for step in self.recipe.steps:
            if isinstance(step, ConvertState | ConvertKey | DropKeys) and step.function is not None:
                yield step.function
            if isinstance(step, ConvertKey | ConvertWindows):
                yield from (how for how in step.merge.values() if how not in set(Rule))
