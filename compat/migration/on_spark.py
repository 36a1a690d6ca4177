"""A recipe for a job on Spark: its steps are applied while a snapshot in Delta is restored, with the names of the snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.moving import Moves
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.compiler.spark.driver.saved import SavedOperator
from compat.migration.moved_plans import digest_of, resolved
from compat.migration.recipe import Recipe
from compat.savepoint.operators import RequestError
from compat.state.delta.conversion import Bytes
from compat.state.delta.errors import StoreError
from compat.state.delta.rows import Kind
from compat.state.flink.forms import Unconvertible

_ROWS = {"LIST": Kind.LIST, "MAP": Kind.MAP}


class SparkRecipe(Struct, frozen=True):
    """A recipe applied at a restore (`compat.compiler.spark.driver.options.Recipe`).

    ``checked`` is the digest of OLD's plan after the recipe, from an earlier check: the restored state has to match it.
    """

    recipe: Recipe
    checked: str | None = None

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
        found = resolved(self.recipe, saved, new_plan)
        return Moves(
            saved=found.afterwards(),
            plan=None if old_plan is None else found.moved(old_plan),
            ids=found.ids,
            states=found.states,
            migrations={
                (id, _kind(state), state["name"]): _told(convert, label)
                for id, state, convert, label in found.converted
            },
        )


def _kind(state: Mapping[str, Any]) -> str:
    return Kind.BROADCAST if state.get("scope") == "broadcast" else _ROWS.get(state["kind"], Kind.VALUE)


def _told(convert: Bytes, label: str) -> Bytes:
    """The same, with what does not fit told as what cannot be restored, once it is met."""

    def converted(data: bytes) -> bytes:
        try:
            return convert(data)
        except Unconvertible as error:
            raise StoreError(f"{label}: {error}.") from None

    return converted
