"""Settings of the operator behind a stream or a sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from compat.compiler.datastream._location import here
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.errors import ProgramError, illegal_argument, malformed_uid_hash, unsupported
from compat.compiler.transformations.kinds import Transformation
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM

if TYPE_CHECKING:
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment

Settings = TypeVar("Settings", bound="OperatorSettings")

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


class OperatorSettings:
    """A handle of one transformation of an environment."""

    _environment: StreamExecutionEnvironment
    _id: int

    def __reduce__(self) -> Any:
        """Refused: it belongs to the program that builds the job, not to the functions that run in it."""
        raise TypeError(f"cannot pickle a {type(self).__name__}: functions cannot use what builds the job")

    @property
    def _transformation(self) -> Transformation:
        return self._environment.pipeline[self._id]

    def _update(self: Settings, **changes: Any) -> Settings:
        self._environment.pipeline.update(self._id, **changes)
        return self

    def _refuse_without_operator(self, what: str) -> None:
        """Overridden where a stream has no operator of its own."""

    def _set_parallelism(self: Settings, parallelism: int, *, parallel: bool = True) -> Settings:
        _require_integer("parallelism", parallelism)
        if not parallel and parallelism != 1:
            raise self._wrong("The parallelism of non parallel operator must be 1.")
        if parallelism < 1 and parallelism != -1:
            raise self._wrong(
                "The parallelism of an operator must be at least 1, or ExecutionConfig.PARALLELISM_DEFAULT "
                "(use system default)."
            )
        return self._update(parallelism=parallelism, parallelism_configured=parallelism != -1)

    def _set_max_parallelism(self: Settings, max_parallelism: int, *, parallel: bool = True) -> Settings:
        _require_integer("max_parallelism", max_parallelism)
        if max_parallelism <= 0:
            raise self._wrong("The maximum parallelism must be greater than 0.")
        if not parallel and max_parallelism != 1:
            raise self._wrong("The maximum parallelism of non parallel operator must be 1.")
        if max_parallelism > HIGHEST_MAX_PARALLELISM:
            raise self._wrong(
                f"Maximum parallelism must be between 1 and {HIGHEST_MAX_PARALLELISM}. Found: {max_parallelism}"
            )
        return self._update(max_parallelism=max_parallelism)

    def _set_uid_hash(self: Settings, uid_hash: str) -> Settings:
        if len(uid_hash) != 32 or not _HEX_DIGITS.issuperset(uid_hash):
            transformation = self._transformation
            raise malformed_uid_hash(uid_hash, operator=transformation.name, location=transformation.location)
        return self._update(user_hash=uid_hash)

    def _set_slot_sharing_group(self: Settings, group: str | SlotSharingGroup) -> Settings:
        if isinstance(group, str):
            return self._update(slot_sharing_group=group, slot_resources=None)
        return self._update(slot_sharing_group=group.get_name(), slot_resources=group.resources(here()))

    def _set_chaining(self: Settings, strategy: Any) -> Settings:
        if not self._transformation.physical:
            raise unsupported(
                f"Cannot set chaining strategy on {self._transformation.name}",
                location=self._transformation.location,
            )
        return self._update(chaining=strategy)

    def _wrong(self, message: str) -> ProgramError:
        transformation = self._transformation
        return illegal_argument(message, operator=transformation.name, location=transformation.location)


def _require_integer(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}.")
