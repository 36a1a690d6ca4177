"""What the checker knows of a program or a snapshot: frozen values, read from a plan.

Nothing here knows how a plan was made; a plan compiled a moment ago and one read from a file give the same facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from compat.compiler.frozen import frozen


class StateKind(Enum):
    """What holds a state's values."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    TIMERS = "timers"
    COORDINATOR = "coordinator"


class StateScope(Enum):
    """Whom a state belongs to: a key, a subtask (redistributed as a list or as a union), all subtasks alike."""

    KEYED = "keyed"
    OPERATOR = "operator"
    UNION = "union"
    BROADCAST = "broadcast"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a program: the file as the user named it, the line from 1; line 0 means a file as a whole.

    ``end`` is where the call ends that stands there (in a topology file, the entry's ``id``): line from 1, column from 0
    in bytes of UTF-8; None where it is not known. Two places on one line are the same place.
    """

    file: str
    line: int
    end: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@frozen
class State:
    """One state of an operator.

    ``type``, ``key_type`` and ``namespace_type`` are in the textual form of :mod:`compat.state.types`, None where unknown or
    absent. ``ttl`` is the time to live in milliseconds or None. ``built_in`` marks what the framework keeps (timers,
    windows, source positions); ``unstable`` a state whose name is drawn anew at every start. ``keys`` and ``bytes`` are
    sizes, where a snapshot tells them.
    """

    name: str
    kind: StateKind
    scope: StateScope
    type: str | None = None
    key_type: str | None = None
    namespace_type: str | None = None
    ttl: int | None = None
    built_in: bool = False
    unstable: bool = False
    keys: int | None = None
    bytes: int | None = None


@frozen
class Operator:
    """An operator as a restore sees it.

    ``id`` is the generated id or the uid's hash, ``user_hash`` what ``set_uid_hash`` gave. ``states`` is None where they
    could not be found out, and ``states_unknown`` says why. ``has_state`` is whether a snapshot of this operator holds
    anything, be it empty: that is what Flink looks at. ``merged_uids`` are uids of operators that PyFlink melted into
    this one, and so dropped. ``detail`` carries kind-specific facts (window assigner, aggregate, Python operator class).
    """

    id: str
    user_hash: str | None
    uid: str | None
    name: str
    kind: str
    parallelism: int
    parallelism_configured: bool
    max_parallelism: int
    max_parallelism_configured: bool
    vertex: str
    node: int
    position: int
    chained_outputs: int
    inputs: tuple[str, ...]
    source: SourceLine | None
    states: tuple[State, ...] | None
    states_unknown: str | None
    has_state: bool
    merged_uids: tuple[tuple[str, SourceLine | None], ...]
    detail: dict[str, Any]

    @property
    def pinned(self) -> bool:
        """True if an edit elsewhere in the program cannot move the id."""
        return self.uid is not None

    @property
    def label(self) -> str:
        """How a person calls it: its name, and its uid if it has one."""
        return f"{self.name!r}" + (f" (uid {self.uid!r})" if self.uid is not None else "")


@frozen
class Vertex:
    """A chain of operators: its id, its name and the ids of its operators, the head first.

    ``inputs`` are the vertices that it reads, each with whether a subtask reads some of theirs only (``POINTWISE``).
    """

    id: str
    name: str
    operators: tuple[str, ...]
    parallelism: int
    max_parallelism: int
    inputs: tuple[tuple[str, bool], ...] = ()


@frozen
class StateFile:
    """A file that a savepoint needs beside its metadata: its name as recorded, where it is (``local``, ``remote``,
    ``missing``, …), and the ids of the operators whose state is in it."""

    name: str
    status: str
    operators: tuple[str, ...]
    missing: bool


@frozen
class Snapshot:
    """What a savepoint or checkpoint is beside its operators.

    ``path`` is its ``_metadata``. ``backends`` has, for operators whose keyed state is in a state backend's own format,
    the backend by the operator's id. ``types_known`` is true if the states' declared types were told from elsewhere.
    """

    path: str
    format_version: int
    files: tuple[StateFile, ...] = ()
    backends: dict[str, str] = field(default_factory=dict)
    types_known: bool = False


@frozen
class Program:
    """A job, or the snapshot of one, as facts.

    ``name`` is what a report calls it (the file's name), ``kind`` one of ``program``, ``topology``, ``plan``, ``savepoint``,
    ``snapshot``. ``settings`` are the options that matter for a restore,
    ``source`` the line that submitted the job. ``all_have_state`` holds when snapshots of this
    job contain handles for every operator (file merging), ``batch`` for a job in batch mode. ``snapshot`` is what a
    savepoint says beside that, None for a program.
    """

    name: str
    kind: str
    job_name: str
    flink: str
    operators: tuple[Operator, ...]
    vertices: tuple[Vertex, ...]
    settings: dict[str, Any]
    source: SourceLine | None = None
    all_have_state: bool = False
    batch: bool = False
    snapshot: Snapshot | None = None

    @cached_property
    def by_id(self) -> dict[str, Operator]:
        """The operators by their ids."""
        return {operator.id: operator for operator in self.operators}

    @property
    def uids(self) -> frozenset[str]:
        """The uids of all operators that have one."""
        return frozenset(operator.uid for operator in self.operators if operator.uid is not None)
