"""The plan of a job: what ``compat plan`` prints, what is kept beside a job as its snapshot, and what the rules look at.

The records here are the plan's one description. :mod:`compat.plan.reading` and :mod:`compat.plan.writing` turn them from
and into JSON, :mod:`compat.plan.schema` gives their JSON schema. A field that may be missing is left out where it says nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType, field

from compat.plan.behaviour import Holding, Pattern
from compat.plan.code import Key, UserCode, WrittenClass
from compat.plan.connectors import Connector
from compat.plan.fields import Id, Index, Int, Long, Record, written
from compat.plan.graphs import ExecutionGraph, JobGraph, StreamGraph

FORMAT = 1
"""The version of the plan's JSON. It changes when a reader of the old one could misread the new one."""

Language = Literal["python", "java", "sql", "topology"]
"""The languages in which a job can be written."""


class StateKind(Enum):
    """The kinds of state: what holds the values."""

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
    """Whom a state belongs to: a key, a subtask (redistributed as a list or as a union), all subtasks alike."""

    KEYED = "keyed"
    OPERATOR = "operator"
    UNION = "union"
    BROADCAST = "broadcast"


class SourceLine(Struct, frozen=True, omit_defaults=True, gc=False, eq=False):
    """A place in a program: the file as the user named it, the line from 1; line 0 means a file as a whole.

    ``end`` is where the call ends that stands there (in a topology file, the entry's ``id``): line from 1, column from 0
    in bytes of UTF-8; None where it is not known. A line of Java has the class and the method that it is in.
    Two places on one line are the same place.
    """

    file: str
    line: Index
    end: tuple[Index, Index] | None = None
    class_name: str | None = field(name="class", default=None)
    method: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceLine) and (self.file, self.line) == (other.file, other.line)

    def __hash__(self) -> int:
        return hash((self.file, self.line))


class Serializers(Record, frozen=True, kw_only=True):
    """The snapshots that Flink's own serializers of a state wrote of themselves, as in a savepoint."""

    key: bytes | None = None
    namespace: bytes | None = None
    value: bytes | None = None


class State(Record, frozen=True, kw_only=True):
    """One state of an operator.

    ``type``, ``key_type`` and ``namespace_type`` are in the textual form of :mod:`compat.state.types`, None where unknown or
    absent. ``ttl`` is the time to live in milliseconds or None. ``built_in`` marks what the framework keeps (timers,
    windows, source positions); ``unstable`` a state whose name is drawn anew at every start. ``keys`` and ``bytes`` are
    sizes, where a snapshot tells them; ``serializers`` what Flink says of the types, for a job that Flink built, and
    ``function`` what folds new values into a reducing or aggregating state. ``classes`` are the user's classes that the
    serializers write in ways that they do not tell of.
    ``source`` is where the function asks for the state, where that is known.
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


class More(Record, frozen=True, kw_only=True):
    """Why an operator may keep states besides those that are known.

    ``code`` is a digest of all that decides which: where it is the same for two versions, they keep the same. None where that
    cannot be told.
    """

    why: str
    code: str | None = None


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
        "made_with": dict[str, str],
    },
    total=False,
)
"""Facts that only some operators have: a function's class and whether it registers timers, a window's assigner, clock, trigger,
evictor and lateness in milliseconds, settings of its own, that a source comes to an end. Of an operator in Java: the number
of the input that each of its inputs feeds (0 for the only one), the bounds of an interval join in milliseconds, whether it
asks for state asynchronously, the fields that hold its states, a pattern of CEP, the names of the sources that it hears of.
Of an operator of a savepoint: that it was recorded, without a name, how far it had finished, where records were in flight,
what its serializers say against the declared types, what Kryo wrote, and the classes that its pickles name. Of a function in
Python the plain values that it was made with, as digests, by attribute, and the attributes that hold its states; with pickled
states the program's classes that it mentions, and all that are in its module, as ``module:name``, and digests of what their
pickles depend on."""


class Operator(Record, frozen=True, kw_only=True):
    """An operator as a restore sees it.

    ``id`` is the generated id or the uid's hash, ``user_hash`` what ``set_uid_hash`` gave. ``states`` is None where they
    could not be found out, and ``states_unknown`` says why; ``more`` is why there may be others besides.
    ``has_state`` is whether a snapshot of this operator holds
    anything, be it empty: that is what Flink looks at. ``merged`` are operators that PyFlink melted into this one.
    ``description`` is Flink's, and ``exec_node`` the JSON of the node of a compiled SQL plan that made the operator.
    ``function`` is the user's function in it, ``key_selectors`` what makes the key of each keyed input, and ``key`` what is
    known of the user's classes in the key, in a job that Flink built.
    ``connector`` is what a source or sink was set to, and ``called`` are the user's functions that an operator of a query
    calls.
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
        """How a person calls it: its name, and its uid if it has one."""
        return f"{self.name!r}" + (f" (uid {self.uid!r})" if self.uid is not None else "")

    @property
    def merged_uids(self) -> tuple[tuple[str, SourceLine | None], ...]:
        """The uids that PyFlink dropped when it melted their operators into this one, each with its line."""
        return tuple((part.uid, part.source) for part in self.merged if part.uid is not None)


Settings = TypedDict(
    "Settings",
    {
        "parallelism": Int | None,
        "max_parallelism": Int | None,
        "mode": str | None,
        "operator_chaining": bool | None,
        "chain_different_max_parallelism": bool | None,
        "python.operator-chaining.enabled": bool | None,
        "python.execution-mode": str | None,
        "execution.checkpointing.file-merging.enabled": bool | None,
        "state.backend.type": str | None,
        "state.backend.rocksdb.timer-service.factory": str,
        "checkpoint_interval": Long | None,
        "auto_generated_uids": bool | None,
        "state.kept-by": str,
        "table_options": dict[str, str],
        "execution.state-recovery.ignore-unclaimed-state": bool,
    },
    total=False,
)
"""The settings that matter for a restore, options of Flink under their own names; ``table_options`` are the planner's."""


class Refusal(Record, frozen=True, kw_only=True):
    """Why Flink refuses a program: the stage and its entry or operator, Flink's exception, and the place in the program.

    ``code`` says what is wrong in a word that does not change with the message, ``value`` what the program gave where one text
    is to blame; plans of version 0.1.0 have neither.
    """

    stage: str
    op: str | None = written(None)
    class_name: str = field(name="class")
    message: str
    code: str | None = None
    value: str | None = None
    operator: str | None = written(None)
    source: SourceLine | None = written(None)

    @property
    def told(self) -> str:
        """What is said of it; that Flink refuses the program only where an exception of Flink's stands for it."""
        if "." in self.class_name:
            return f"Flink refuses the program ({self.stage}): {self.message}"
        return f"No job can be made of it: {self.message}"


Line = tuple[Index, str]
"""A line of a program: its number, from 1, and its text."""


class Statement(Record, frozen=True, kw_only=True):
    """A statement of a job in SQL, and where it stands."""

    text: str
    file: str
    line: Index


class Beyond(Record, frozen=True, kw_only=True):
    """A name that the program used and PyFlink lacks, and the line of its first use.

    ``when`` tells what fails with PyFlink: the program before it submits the job (``built``) or behind its last one
    (``ended``), or a function of the job (``run``).
    """

    name: str
    when: Literal["built", "run", "ended"] = "built"
    source: SourceLine | None = None


class _Job(Record, frozen=True, kw_only=True):
    """The facts known of a job, refused or not. ``file`` and ``job`` say which of several programs and of its jobs it is."""

    file: str | None = None
    job: Index | None = None
    format: Literal[1] = written(FORMAT)
    flink: Annotated[str, Meta(description="The version whose rules were followed; empty before it was known.")]


class Plan(_Job, frozen=True, kw_only=True):
    """One job in four layers: what compat plan --format json prints, and what it writes as a snapshot.

    Graph fields bear Flink's names in snake case. New fields may appear; format changes when a field changes its meaning or
    goes. ``hashes`` are operator ids by node, in the order in which Flink computes them, and ``user_hashes`` what setUidHash
    gave. ``lines`` are those of the program that the plan names, with their neighbours, by file. Of a topology file,
    ``transformations`` are ids by label, and ``stream_plan`` is Flink's JSON plan where it asks
    for it. ``statements`` are those of a job in SQL, ``on_spark`` tells a
    program that is written for Spark. ``nodes`` and what follows stand for the graphs of a very large topology.
    ``otherwise`` is the plan with another default parallelism, where neither the program nor an option sets one and ids or
    chains hang on it.
    ``empty_savepoint`` is the ``_metadata`` that a job that Flink built would write before its first record: with its states'
    serializers as Flink has them, and not one value.
    """

    job_name: str
    error: None = written(None)
    language: Language | None = None
    source: SourceLine | UnsetType | None = UNSET
    statements: tuple[Statement, ...] = ()
    on_spark: bool = False
    beyond: tuple[Beyond, ...] = ()
    settings: Settings
    stream_graph: StreamGraph
    hashes: dict[str, Id]
    user_hashes: dict[str, str]
    job_graph: JobGraph
    execution_graph: ExecutionGraph
    operators: tuple[Operator, ...]
    transformations: dict[str, Int] | None = None
    stream_plan: str | None = None
    empty_savepoint: bytes | None = None
    otherwise: Plan | None = None
    lines: dict[str, tuple[Line, ...]] = {}
    nodes: Index | None = None
    vertices: Index | None = None
    vertex_ids: tuple[Id, ...] | None = None
    vertex_operators: tuple[Index, ...] | None = None
    vertex_inputs: tuple[Index, ...] | None = None


class SharedUids(Plan, frozen=True, kw_only=True):
    """The plan of the job in which, of the operators with one uid, only the first has it; ``shared_uids`` are by node."""

    shared_uids: dict[str, str]


class Refused(_Job, frozen=True, kw_only=True):
    """A job that Flink refuses, with what was made before the refusal.

    Of a job with a uid that several operators have, ``apart`` is the plan of the job in which only the first has it.
    """

    job_name: str | None = written(None)
    error: Refusal
    language: Language | None = None
    source: SourceLine | UnsetType | None = UNSET
    statements: tuple[Statement, ...] = ()
    settings: Settings | None = None
    stream_graph: StreamGraph | None = None
    hashes: dict[str, Id] | None = None
    user_hashes: dict[str, str] | None = None
    job_graph: JobGraph | None = None
    apart: SharedUids | None = None
    transformations: dict[str, Int] | None = None
    stream_plan: str | None = None
    nodes: Index | None = None
    vertices: Index | None = None
    vertex_ids: tuple[Id, ...] | None = None
    vertex_operators: tuple[Index, ...] | None = None
    vertex_inputs: tuple[Index, ...] | None = None
