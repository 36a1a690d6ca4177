"""Operators, with their states and other facts that a restore depends on."""

from __future__ import annotations

from typing import TypedDict

from msgspec import field

from compat.state.model.behaviour import Holding, Pattern
from compat.state.model.code import Key, UserCode
from compat.state.model.connectors import Connector
from compat.state.model.contents import Reads, Shapes
from compat.state.model.fields import Id, Index, Int, Long, Record, written
from compat.state.model.source_line import SourceLine
from compat.state.model.states import More, State


class Merged(Record, frozen=True, kw_only=True):
    """An operator that PyFlink merged into another one, which drops its uid."""

    name: str | None = written(None)
    uid: str | None = written(None)
    source: SourceLine | None = written(None)


Detail = TypedDict(
    "Detail",
    {
        "class": str | None,
        "python": str | None,
        "function": str | None,
        "timers": bool | None,
        "window": str | None,
        "window_class": str | None,
        "window_clock": str | None,
        "window_merging": bool | None,
        "window_function": str | None,
        "trigger": str | None,
        "evictor": str | None,
        "lateness": Long,
        "aggregate": str | None,
        "known_states": list[str],
        "chaining_strategy": str | None,
        "slot_sharing_group": str | None,
        "own_max_parallelism": Int | None,
        "inputs_number": Index | None,
        "bounded": bool,
        "input_numbers": list[Index],
        "join_bounds": tuple[Long, Long],
        "asynchronous": bool,
        "uid_drawn": str,
        "holding": Holding,
        "pattern": Pattern,
        "origins": list[str],
        "fed": str,
        "recorded": bool,
        "unnamed": bool,
        "finished": str,
        "records_in_flight": list[str],
        "contradicted_types": dict[str, str],
        "kryo_states": list[str],
        "classes_made": list[str],
        "classes_known": list[str],
        "classes_pickled": dict[str, list[str]],
        "classes_written": dict[str, str],
        "classes_present": dict[str, str],
        "classes_shaped": dict[str, list[str]],
        "classes_put": dict[str, list[str]],
        "shapes_put": dict[str, Shapes],
        "shapes_read": dict[str, Reads],
        "made_with": dict[str, str],
        "code": str,
    },
    total=False,
)
"""Facts that only some operators have: a function's class and whether it registers timers, a window's assigner, clock, trigger,
evictor and lateness in milliseconds, settings of its own, that a source comes to an end, a digest of the sources and
functions that feed it. Of an operator in Java: the number
of the input that each of its inputs feeds (0 for the only one), the bounds of an interval join in milliseconds, whether it
asks for state asynchronously, the fields that hold its states, a pattern of CEP, the names of the sources that it hears of.
Of an operator of a savepoint: that it was recorded, without a name, how far it had finished, where records were in flight,
what its serializers say against the declared types, what Kryo wrote, and the classes that its pickles name. Of a function in
Python the plain values that it was made with, as digests, by attribute, and the attributes that hold its states; with pickled
states the program's classes that it mentions, and all that are in its module, as ``module:name``, and digests of what their
pickles depend on; of one that PyFlink itself holds, a digest of its code and its values."""


class Operator(Record, frozen=True, kw_only=True):
    """An operator, with the facts that matter for a restore.

    ``id`` is the generated id or the uid's hash, ``user_hash`` the one from ``set_uid_hash``. ``states`` is None if they are
    unknown, and ``states_unknown`` says why; ``more`` says why there may be further ones. ``has_state`` says whether a snapshot
    of this operator has any state handle, even an empty one: that is what Flink looks at. ``merged`` are operators that PyFlink
    merged into this one. ``description`` is Flink's, and ``exec_node`` the JSON of the node of a compiled SQL plan that made
    the operator. ``function`` is the user's function in it. In a job that Flink built, ``key_selectors`` make the key of each
    keyed input, and ``key`` has the facts about the user's classes in the key. ``connector`` has the settings of a source or
    sink, and ``called`` are the user's functions that an operator of a query calls.
    """

    id: Id = field(name="operator_id")
    user_hash: Id | None = written(None)
    uid: str | None = written(None)
    name: str
    kind: str
    description: str | None = None
    parallelism: Int
    parallelism_configured: bool = written(False)
    max_parallelism: Int
    max_parallelism_configured: bool = written(False)
    vertex: Id
    node: Int
    position: Int
    chained_outputs: Int
    inputs: tuple[Id, ...]
    source: SourceLine | None = written(None)
    has_state: bool = written(False)
    states: tuple[State, ...] | None = written(None)
    states_unknown: str | None = written(None)
    more: More | None = None
    merged: tuple[Merged, ...] = written(())
    detail: Detail = field(default_factory=lambda: Detail())
    exec_node: str | None = None
    function: UserCode | None = None
    called: tuple[UserCode, ...] = ()
    key_selectors: tuple[UserCode | None, ...] = ()
    key: Key | None = None
    connector: Connector | None = None

    @property
    def pinned(self) -> bool:
        """True if an edit elsewhere in the program cannot move the id."""
        return self.uid is not None

    @property
    def label(self) -> str:
        """The displayed name: its name, and its uid if it has one."""
        return f"{self.name!r}" + (f" (uid {self.uid!r})" if self.uid is not None else "")

    @property
    def merged_uids(self) -> tuple[tuple[str, SourceLine | None], ...]:
        """The uids that PyFlink dropped when it merged their operators into this one, each with its line."""
        return tuple((part.uid, part.source) for part in self.merged if part.uid is not None)
