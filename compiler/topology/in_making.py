"""A job while it is made of a topology: what the calls share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import ProgramError, unsupported
from compat.compiler.topology.calls import DEFAULT_NAMES
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import Call, ChainingStrategy, Described
from compat.compiler.transformations.partitioners import Partitioner
from compat.compiler.transformations.pipeline import Pipeline


class JobInMaking:
    """The transformations so far, the stream of each entry by its label, and the settings of the job."""

    def __init__(self, settings: JobSettings) -> None:
        self.pipeline = Pipeline()
        self.streams: dict[str, Stream] = {}
        self.settings = settings
        self.side_output_types: dict[tuple[int, str], str] = {}
        self.co_iterations: dict[str, int] = {}
        self._selectors = 0

    def common(self, entry: Entry, **changes: Any) -> dict[str, Any]:
        """The fields of every new transformation: an id, a name, the job's parallelism, the entry's place."""
        return {
            "id": self.pipeline.new_id(),
            "name": DEFAULT_NAMES.get(entry.kind, entry.kind),
            "parallelism": self.settings.parallelism,
            "location": entry.location,
            **changes,
        }

    def operator(self, entry: Entry, call: Call | None = None, **traits: Any) -> Described:
        """The operator of an entry, with the states that the topology declares for it."""
        states = entry.get("states")
        return Described(call=call or Call(entry.kind), states=None if states is None else tuple(states), **traits)

    def selector(self) -> int:
        """A number that tells one key selector from another."""
        self._selectors += 1
        return self._selectors

    def partition(self, stream: Stream, partitioner: Partitioner, entry: Entry) -> kinds.Partition:
        """A partitioning after a stream, which takes the stream's parallelism."""
        upstream = self.pipeline[stream.id]
        return self.pipeline.add(
            kinds.Partition(
                **self.common(entry, name="Partition", parallelism=upstream.parallelism),
                input=stream.id,
                partitioner=partitioner,
            ),
            register=False,
        )

    @property
    def two_input_chaining(self) -> ChainingStrategy:
        """Operators with two inputs head their chain in Flink 1.x; an edge into one is never chainable anyway."""
        return ChainingStrategy.HEAD if self.settings.legacy else ChainingStrategy.ALWAYS


def require_key(entry: Entry, stream: Stream) -> None:
    """Raise ProgramError for a stream without keys."""
    if not stream.keyed:
        raise ProgramError(f"{entry.kind!r} reads a keyed stream: put a 'key_by' before it.")


def forbid_key(stream: Stream) -> None:
    """Raise what Flink raises for a partitioning of a stream with keys."""
    if stream.keyed:
        raise unsupported("Cannot override partitioning for KeyedStream.")


def choice(entry: Entry, field: str, choices: Mapping[str, Any], default: str) -> Any:
    """What a field of an entry names. Raises ProgramError for an unknown name."""
    name = entry.get(field, default)
    if name not in choices:
        raise ProgramError(f"Unknown {field} {name!r}. Known: {', '.join(sorted(choices))}.")
    return choices[name]
