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
    absent. ``ttl`` is the time to live in milliseconds or None. ``built_in`` marks what the framework keeps (timers,
    windows, source positions); ``unstable`` a state whose name is drawn anew at every start. ``keys`` and ``bytes`` are
    sizes, where a snapshot tells them; ``serializers`` what Flink says of the types, for a job that Flink built, and
    ``function`` what folds new values into a reducing or aggregating state. ``classes`` are the user's classes that the
    serializers write in ways that they do not tell of.
    ``source`` is where the function asks for the state, where that is known; ``known`` is how the state is, None in plans of
    format 1.
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

    ``code`` is a digest of all that decides which: where it is the same for two versions, they keep the same. None if that
    cannot be told.
    """

    why: str
    code: str | None = None
