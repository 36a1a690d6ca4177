"""States: their kind, owner and types, and the source of that knowledge."""

from __future__ import annotations

from enum import Enum

from compat.state.model.code import UserCode, WrittenClass
from compat.state.model.fields import Long, Record, written
from compat.state.model.source_line import SourceLine


class StateKind(Enum):
    """The kinds of state."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    TIMERS = "timers"
    COORDINATOR = "coordinator"


FUNCTIONS_OF_CONTENTS = {
    StateKind.REDUCING: "reduce",
    StateKind.AGGREGATING: "aggregate",
    StateKind.LIST: "process",
}
"""The functions of windows in Java, by the kind of state in which Flink keeps what they were given."""


class StateScope(Enum):
    """The owner of a state: a key, a subtask (redistributed as a list or as a union), all subtasks alike."""

    KEYED = "keyed"
    OPERATOR = "operator"
    UNION = "union"
    BROADCAST = "broadcast"


class Known(Enum):
    """The source of knowledge about a state."""

    DECLARED = "declared"
    BUILT_IN = "built into Flink"
    OPENED = "open() was called"
    CODE = "read from code"
    RECORDED = "recorded"


class Serializers(Record, frozen=True, kw_only=True):
    """The snapshots of Flink's own serializers of a state, as in a savepoint."""

    key: bytes | None = None
    namespace: bytes | None = None
    value: bytes | None = None


class State(Record, frozen=True, kw_only=True):
    """One state of an operator.

    ``type``, ``key_type`` and ``namespace_type`` are in the textual form of :mod:`compat.state.types`, None if unknown or
    absent. ``ttl`` is the time to live in milliseconds or None. ``built_in`` marks the framework's own state (timers, windows,
    source positions); ``unstable`` marks a state with a new random name at every start. ``keys`` and ``bytes`` are sizes, if a
    snapshot has them. For a job that Flink built, ``serializers`` are Flink's facts about the types. ``function`` adds new
    values to a reducing or aggregating state. ``classes`` are the user's classes that the serializers write without a record of
    their form. ``source`` is the line where the function asks for the state, if known; ``known`` says how the state is known,
    None in plans of format 1.
    """

    name: str
    kind: StateKind
    scope: StateScope
    type: str | None = written(None)
    key_type: str | None = written(None)
    namespace_type: str | None = written(None)
    ttl: Long | None = written(None)
    built_in: bool = False
    unstable: bool = False
    keys: Long | None = None
    bytes: Long | None = None
    serializers: Serializers | None = None
    function: UserCode | None = None
    classes: tuple[WrittenClass, ...] = ()
    source: SourceLine | None = None
    known: Known | None = None


class More(Record, frozen=True, kw_only=True):
    """The reason why an operator may have states besides the known ones.

    ``code`` is a digest of the code that decides which: two versions with the same digest keep the same states. None if
    unknown.
    """

    why: str
    code: str | None = None
