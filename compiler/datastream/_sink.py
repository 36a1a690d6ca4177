"""The end of a stream. Flink: ``DataStreamSink``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.compiler.datastream._operator_settings import OperatorSettings
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.errors import unsupported
from compat.compiler.transformations.kinds import LegacySink
from compat.compiler.transformations.operators import ChainingStrategy

if TYPE_CHECKING:
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment


class DataStreamSink(OperatorSettings):
    """A sink that was put behind a stream; its settings can still be given."""

    def __init__(self, environment: StreamExecutionEnvironment, id: int) -> None:
        self._environment = environment
        self._id = id

    def name(self, name: str) -> DataStreamSink:
        """The name that is shown; it changes no id."""
        return self._update(name=name)

    def uid(self, uid: str) -> DataStreamSink:
        """The id that state is found by, over all versions of the program."""
        return self._update(uid=uid)

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """The operator id itself, as 32 hexadecimal digits; for sinks of the old kind only."""
        if not isinstance(self._transformation, LegacySink):
            raise unsupported(
                "Cannot set a custom UID hash on a non-legacy sink",
                operator=self._transformation.name,
                location=self._transformation.location,
            )
        return self._set_uid_hash(uid_hash)

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        return self._set_parallelism(parallelism)

    def set_description(self, description: str) -> DataStreamSink:
        """A longer text than the name, for people."""
        return self._update(description=description)

    def disable_chaining(self) -> DataStreamSink:
        """Never share a thread with neighbouring operators."""
        return self._set_chaining(ChainingStrategy.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStreamSink:
        """Run in slots of that group only."""
        return self._set_slot_sharing_group(slot_sharing_group)
