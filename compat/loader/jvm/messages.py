"""The JVM's account of a program: its jobs as Flink compiled them, with the states that Flink's operators keep.

Graphs carry Flink's names for Flink's things. All records travel from the child process as JSON.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from compat.loader.request import Lack
from compat.state.model.behaviour import Holding, Pattern
from compat.state.model.code import Key, UserCode, WrittenClass
from compat.state.model.connectors import Connector
from compat.state.model.samples import Sample
from compat.state.model.states import More

Scope = Literal["keyed", "operator", "broadcast", "timer"]


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen record with named fields."""


class JavaFrame(Struct, frozen=True, kw_only=True):
    """A line of the user's code, from ``StackTraceElement``. ``line`` is 0 if the class has no lines.

    Python's lines have no class; ``method`` is the function.
    """

    class_name: str = ""
    method: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file or "unknown source"
        if not self.class_name:
            return f"{where}, in {self.method}"
        return f"{self.class_name}.{self.method}({where})"


class Serializer(Struct, frozen=True, kw_only=True):
    """A serializer's snapshot: ``written`` are the bytes of ``TypeSerializerSnapshot.writeVersionedSnapshot``.

    ``columns`` are the types of the fields of rows in SQL, within it or its first part that has rows.
    """

    serializer: str
    snapshot: str
    version: int
    written: bytes
    columns: tuple[str, ...] = ()


class StateUse(Struct, frozen=True, kw_only=True):
    """An operator's use of a state, which no snapshot records: its time to live in milliseconds, the function that
    folds into it.
    """

    ttl: int | None = None
    function: UserCode | None = None


class DeclaredState(Struct, frozen=True, kw_only=True):
    """A state that an operator declares: its name, kind, and the serializers of its parts.

    ``kind`` is Flink's: of keyed state ``VALUE``, ``LIST``, ``MAP``, ``REDUCING``, ``AGGREGATING``, of operator state its
    distribution (``SPLIT_DISTRIBUTE``, ``UNION``, ``BROADCAST``), ``PRIORITY_QUEUE`` for timers.
    """

    name: str
    scope: Scope
    kind: str
    serializers: dict[str, Serializer]
    use: StateUse | None = None
    classes: tuple[WrittenClass, ...] = ()


class DeclaredStates(Struct, frozen=True, kw_only=True):
    """The states of an operator. ``unknown`` says why they could not be found; they are empty then. ``more`` is why it
    may keep further ones.
    """

    states: tuple[DeclaredState, ...] = ()
    more: More | None = None
    key_serializer: Serializer | None = None
    holding: Holding | None = None
    key: Key | None = None
    unknown: str = ""


class PythonState(Struct, frozen=True, kw_only=True):
    """A state that a function in Python asks for: its descriptor's kind and type in Flink's spelling, its time to live in
    milliseconds, and the line that asks for it."""

    name: str
    kind: str
    type: str
    ttl: int | None = None
    source: JavaFrame | None = None


class PythonWindow(Struct, frozen=True, kw_only=True):
    """The parts of a window operator of PyFlink's DataStream API: ``namespace`` is the type of its windows,
    ``contents`` that of their contents.
    """

    assigner: str
    text: str
    merging: bool
    event_time: bool
    trigger: str
    namespace: str
    contents: str


class PythonFunction(Struct, frozen=True, kw_only=True):
    """The Python function of an operator of PyFlink's DataStream API. ``unknown`` says why its states could not be found.

    ``adapter`` is the class that PyFlink wraps around the function, which tells the call. ``key_type`` is that of the
    row that
    PyFlink has for a key, None for an operator without keys. ``reduces`` tells of a reduce that
    PyFlink builds in, whose state has another name at every start.
    """

    name: str
    adapter: str = ""
    key_type: str | None = None
    states: tuple[PythonState, ...] = ()
    unknown: str = ""
    timers: bool = False
    reduces: bool = False
    window: PythonWindow | None = None


class MergedPart(Struct, frozen=True, kw_only=True):
    """An operator that PyFlink merged into the one before it, which drops its uid."""

    name: str
    uid: str | None = None
    source: JavaFrame | None = None


WindowFunction = Literal["reduce", "aggregate", "process"]


class Window(Struct, frozen=True, kw_only=True):
    """How an operator cuts windows and ends them; assigner, trigger and evictor as text with what they were made with.

    ``lateness`` is in milliseconds. ``function`` is what the windows hold: one value that each record is folded into, or all
    records.
    """

    assigner: str
    assigner_class: str
    event_time: bool
    merging: bool
    trigger: str
    evictor: str | None
    lateness: int
    function: WindowFunction | None


class Traits(Struct, frozen=True, kw_only=True):
    """The behaviour of an operator, from the objects that the program gave to it.

    ``timers`` is whether the function's code registers any, None if that cannot be told. ``bounds`` are those of an interval
    join, in milliseconds. ``ends`` is whether it is a source whose records come to an end.
    """

    window: Window | None = None
    pattern: Pattern | None = None
    timers: bool | None = None
    asynchronous: bool = False
    bounds: tuple[int, int] | None = None
    ends: bool = False


class EdgeId(Struct, frozen=True, kw_only=True):
    """The edge that feeds a node: ``index`` counts the edges between the same two nodes."""

    source: int
    target: int
    type_number: int
    index: int


class Node(Struct, frozen=True, kw_only=True):
    """A StreamNode, with the id that its operator has in the JobGraph.

    ``operator_id`` is what a savepoint calls the operator: ``user_hash`` if there is one, else ``generated_id``. ``vertex`` is
    the JobVertex that runs it, ``source`` the line of the user's code that made it. ``called`` are the user's functions
    that an operator of a query calls. ``drawn`` is the method that gives its
    uid, if that is another one at each start.
    """

    id: int
    name: str
    description: str
    uid: str | None
    user_hash: str | None
    generated_id: str
    operator_id: str
    parallelism: int
    parallelism_configured: bool
    max_parallelism: int
    slot_sharing_group: str | None
    co_location_group: str | None
    buffer_timeout: int
    chaining_strategy: str | None
    factory: str
    operator: str
    function: UserCode | None
    state_keys: int
    called: tuple[UserCode, ...] = ()
    key_selectors: tuple[UserCode | None, ...] = ()
    key_serializer: str | None
    output_serializer: str | None
    vertex: str
    vertex_class: str
    yielding: bool
    output_only_after_end_of_stream: bool
    concurrent_attempts: bool
    coordinator: bool
    inputs: tuple[EdgeId, ...]
    source: JavaFrame | None = None
    drawn: str | None = None
    states: DeclaredStates = DeclaredStates()
    traits: Traits = Traits()
    connector: Connector | None = None
    python: PythonFunction | None = None
    merged: tuple[MergedPart, ...] = ()


class Edge(Struct, frozen=True, kw_only=True):
    """A StreamEdge between two nodes. Edges with one ``partitioner_group`` have equal partitioners."""

    source: int
    target: int
    type_number: int
    index: int
    partitioner: str
    partitioner_class: str
    partitioner_group: int
    exchange_mode: str
    side_output: str | None
    buffer_timeout: int
    unaligned_checkpoints: bool


class VertexInput(Struct, frozen=True, kw_only=True):
    """A JobEdge into a vertex."""

    source: str
    distribution_pattern: str
    result_partition_type: str
    ship_strategy: str | None


class Vertex(Struct, frozen=True, kw_only=True):
    """A JobVertex; ``operators`` are the generated ids of its operators, in its own order, which ends with the head."""

    id: str
    name: str
    parallelism: int
    parallelism_configured: bool
    max_parallelism: int
    invokable: str
    slot_sharing_group: str | None
    operators: tuple[str, ...]
    inputs: tuple[VertexInput, ...]


class SqlStatement(Struct, frozen=True, kw_only=True):
    """A statement of an SQL script or a program, from 1-based line to line; ``file`` is that of a program."""

    text: str
    line: int
    end_line: int
    file: str = ""


class GraphSettings(Struct, frozen=True, kw_only=True):
    """The settings of a StreamGraph as a whole, as Flink settled it; ``checkpoint_interval`` in milliseconds."""

    batch: bool
    dynamic: bool
    exchange_mode: str
    sources: tuple[int, ...]
    sinks: tuple[int, ...]
    chaining: bool
    chain_different_max_parallelism: bool
    parallelism: int
    max_parallelism: int
    auto_generated_uids: bool
    checkpoint_interval: int | None


class Job(Struct, frozen=True, kw_only=True):
    """A job that a program submitted: the StreamGraph, the JobGraph, and the savepoint that it would write when empty.

    ``savepoint`` is Flink's ``_metadata`` with every operator's states in it and not one value, ``samples`` are made-up
    values of states that code of the program writes. ``exec_plan`` is the JSON
    that ``COMPILE PLAN`` writes, of a job in SQL, and ``statements`` are those that made it. ``python`` tells of a program
    in Python, ``parallelism_given`` that somebody set the default parallelism: the program, or an option. ``alone`` tells
    that the program made an environment of its own, ``variables`` are those of the environment of this process that it read.
    """

    name: str
    flink: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    vertices: tuple[Vertex, ...]
    graph: GraphSettings
    options: dict[str, str]
    savepoint: bytes = b""
    samples: tuple[Sample, ...] = ()
    exec_plan: str | None = None
    statements: tuple[SqlStatement, ...] = ()
    python: bool = False
    parallelism_given: bool = False
    alone: bool = False
    variables: tuple[str, ...] = ()


class Crash(Struct, frozen=True, kw_only=True):
    """Why a program gave no job, or none more: an exception, with the user's own frames, innermost first.

    ``hint`` says what to do, ``option`` is the option to add for that, ``command`` one to run first; ``lacks`` is what a
    program in Python was not given.
    ``refused`` tells that Flink refuses the job that the program submitted, ``without_main`` that the class to run is missing.
    ``settings`` are files that the class path lacks, and whose settings the program hands to connectors as a whole.
    """

    type: str
    message: str
    frames: tuple[JavaFrame, ...] = ()
    hint: str | None = None
    option: str | None = None
    command: str | None = None
    lacks: Lack | None = None
    statement: SqlStatement | None = None
    refused: bool = False
    without_main: bool = False
    settings: tuple[str, ...] = ()


class Submitted(Struct, frozen=True, kw_only=True, tag="job"):
    """A message of the child: a job was submitted."""

    job: Job


class Stuck(Struct, frozen=True, kw_only=True, tag="stuck"):
    """The last message of a child: the time of the program is up, and it is at these lines.

    ``call`` is what the first of them that is the program's own waits for.
    """

    frames: tuple[JavaFrame, ...]
    call: str = ""


PRINTED = b"\0\1said\n"
"""The marker after a program's output, as the next program of the same JVM prints there too."""


class Ended(Struct, frozen=True, kw_only=True, tag="ended"):
    """The last message about a program: it came to its end, with a crash if it raised an exception.

    ``missed`` are the variables of the environment that it asked for in vain, with the lines. ``absent`` are modules that are
    not installed and that building the job used nothing of, ``former`` calls that PyFlink has no more and that change nothing.
    """

    crash: Crash | None = None
    missed: dict[str, JavaFrame] = {}
    absent: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


Backend = Literal["hashmap", "rocksdb", "any"]
Moment = Literal["restore", "first-read", "checkpoint", "moved", "unfit"]
Resolved = Literal["as-is", "reconfigured", "after-migration", "incompatible", "failed", "other-kryo"]


class Part(Struct, frozen=True, kw_only=True):
    """A serializer of OLD's state beside NEW's: the result of ``resolveSchemaCompatibility``, or why it failed.

    Kryo's serializer of Flink 2 does not say that it is another Kryo than that of Flink 1: ``other-kryo`` does.

    ``lost`` are the fields of POJOs in it that the classes of NEW do not have where OLD's had them, by class and name.
    """

    name: str
    resolved: Resolved
    old: Serializer
    new: Serializer
    why: str = ""
    lost: tuple[tuple[str, str], ...] = ()


class StateRestore(Struct, frozen=True, kw_only=True):
    """A state of OLD and its counterpart in NEW; the one without a name stands for the key of all keyed states.

    It is ``missing`` if NEW declares no state of this name.
    """

    name: str
    scope: Scope
    missing: bool = False
    parts: tuple[Part, ...] = ()
    old_kind: str = ""
    new_kind: str = ""


class RestoreFailure(Struct, frozen=True, kw_only=True):
    """The failure as Flink threw it: the most telling exception, and the innermost one if that differs."""

    type: str
    message: str
    cause: str | None = None


class RestoreAttempt(Struct, frozen=True, kw_only=True):
    """A restore on a state backend; ``any`` stands for what fails before there is one.

    ``at_first_read`` tells of a failure that the backend shows when it reads a value, not at the restore, ``for_values`` of one
    that the operator's own state before the first record shows as well.
    """

    backend: Backend
    failure: RestoreFailure | None = None
    at_first_read: bool = False
    for_values: bool = False


class StateReading(Struct, frozen=True, kw_only=True):
    """The real values of a state that were restored on a backend and read: how many, and the first that failed.

    ``failure`` is how that one did, ``at`` when that shows (``moved``: never, its fields have other values;
    ``unfit``: when somebody takes out what a field holds, which is not what it declares), ``key_group`` where it is,
    ``key`` its key in words, or the timer. ``made_up`` tells that it is no real one. A state without a name
    stands for all of an operator, where the one that fails cannot be told. What comes behind a failure is not read. ``used`` is
    when the last of the values with a time to live was used, in milliseconds since 1970.
    """

    backend: Backend
    scope: Scope
    name: str
    read: int = 0
    failure: RestoreFailure | None = None
    at: Moment = "restore"
    key_group: int | None = None
    key: str = ""
    made_up: bool = False
    used: int | None = None


class Rehearsal(Struct, frozen=True, kw_only=True):
    """The restore of the real state of an operator, as far as the limit allows: what was read, and how much there was.

    ``misplaced`` is how many values were met in another key group than the hash of their key says now, where nobody looks for
    them.
    """

    states: tuple[StateReading, ...] = ()
    key_groups: int = 0
    key_groups_read: int = 0
    size: int = 0
    size_read: int = 0
    misplaced: int = 0
    notes: tuple[str, ...] = ()


class Sampled(Struct, frozen=True, kw_only=True):
    """Made-up values of a state of OLD that NEW read on these backends: how many, and what of them is not as it was.

    ``name`` is that of the state, or of the class that writes versions. ``whole`` is whether all of their fields were filled.
    """

    scope: Scope
    name: str
    backends: tuple[Backend, ...]
    read: int
    whole: bool = True
    unlike: tuple[str, ...] = ()


class OperatorRestore(Struct, frozen=True, kw_only=True):
    """The restore of OLD's state in the operator of NEW that has its id. ``notes`` say what of it was not tried."""

    node: int
    operator_id: str
    attempts: tuple[RestoreAttempt, ...] = ()
    states: tuple[StateRestore, ...] = ()
    notes: tuple[str, ...] = ()
    rehearsal: Rehearsal = Rehearsal()
    sampled: tuple[Sampled, ...] = ()


class Restored(Struct, frozen=True, kw_only=True, tag="restored"):
    """The answer to a :class:`Restore`; ``failure`` says why nothing could be tried."""

    operators: tuple[OperatorRestore, ...] = ()
    failure: str = ""


class Converted(Struct, frozen=True, kw_only=True, tag="converted"):
    """The answer to a :class:`Convert`: values or hash codes in their order; ``failure`` says why there are none."""

    values: tuple[bytes, ...] = ()
    hashes: tuple[int, ...] = ()
    failure: str = ""


Message = Restored | Converted | Submitted | Stuck | Ended


class JarProgram(Struct, frozen=True, kw_only=True, tag="jar"):
    """A jar with the class whose ``main`` is to be run; the manifest names it if ``main_class`` is None.

    ``before`` is a folder whose files are found before those in the jar, ``after`` are folders whose files are found where no
    jar has them. ``environment`` are variables that it gets.
    """

    path: str
    main_class: str | None = None
    arguments: tuple[str, ...] = ()
    before: str = ""
    after: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class SqlScript(Struct, frozen=True, kw_only=True, tag="sql"):
    """An SQL script, run as by the SQL client."""

    path: str
    text: str


class CompiledPlan(Struct, frozen=True, kw_only=True, tag="compiled-plan"):
    """A plan that ``COMPILE PLAN`` wrote."""

    path: str
    text: str


class PyFlinkProgram(Struct, frozen=True, kw_only=True, tag="pyflink"):
    """A program in Python, run by ``python``, an interpreter that has PyFlink of the Flink that builds its job.

    ``pyfiles``, ``environment``, ``root``, ``folder``, ``taken_from``, ``runtime_properties`` and ``strict_imports`` are those
    of :class:`compat.loader.request.Request`.
    """

    path: str
    python: str
    arguments: tuple[str, ...] = ()
    pyfiles: tuple[str, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    root: str = ""
    folder: str = ""
    taken_from: str = ""
    runtime_properties: str = ""
    strict_imports: bool = False


Program = JarProgram | SqlScript | CompiledPlan | PyFlinkProgram


class Request(Struct, frozen=True, kw_only=True):
    """The request that the child is started with: to build programs with this Flink. :class:`Build` and
    :class:`Restore` follow.

    ``options`` are those of ``-D``, over the settings in the folder ``configuration`` if there is one. Times are in seconds;
    ``timeout`` is for each program.
    """

    flink: str
    classpath: tuple[str, ...]
    java_library: str
    jvm_options: tuple[str, ...] = ()
    user_classpath: tuple[str, ...] = ()
    options: dict[str, str] = {}
    configuration: str = ""
    harness: bool = True
    call_open: bool = True
    open_timeout: float = 5.0
    timeout: float
    archive: bool = False


class Build(Struct, frozen=True, kw_only=True, tag="build"):
    """A task of the child: build a program as if it were the first in its JVM."""

    program: Program


class Limit(Struct, frozen=True, kw_only=True):
    """The limit for real state to restore: bytes of state files, or entries, and seconds."""

    size: int | None = None
    entries: int | None = None
    seconds: float


class Restore(Struct, frozen=True, kw_only=True, tag="restore"):
    """A task of the child: restore OLD's state into a job of the program that it has built last.

    OLD's state is the savepoint or checkpoint in ``folder``, or the ``_metadata`` in ``metadata``, which names files there.
    ``job`` is its place among the jobs of the program. ``limit`` is how many real values are restored; without one they are
    those that stand in the heads of files, which are read in any case. ``samples`` are values that OLD's program made up.
    """

    metadata: bytes = b""
    folder: str = ""
    job: int = 0
    limit: Limit | None = None
    samples: tuple[Sample, ...] = ()


class Convert(Struct, frozen=True, kw_only=True, tag="convert"):
    """A task of the child: write values with the classes of a job of the program that it has built last.

    ``new`` and ``old`` are snapshots of serializers, as ``writeVersionedSnapshot`` writes them, ``kind`` is that of the state,
    or ``BROADCAST``: then a value is all of such a state, and ``keys`` is the snapshot for its keys, which stay;
    ``classpath`` are OLD's jars, if its classes are to read the values. ``fields``, ``constants`` and ``without`` are those of
    recipes, ``classes`` OLD's classes that have other names. ``flink`` are the jars of the Flink that reads the values, where
    NEW's does not. With ``hashes`` the values are keys of NEW's, whose hash codes are wanted.
    """

    job: int = 0
    classpath: tuple[str, ...] = ()
    flink: tuple[str, ...] = ()
    old: bytes = b""
    new: bytes
    kind: str = "VALUE"
    keys: bytes = b""
    hashes: bool = False
    fields: dict[str, str] = {}
    constants: dict[str, bool | int | float | str | None] = {}
    without: tuple[str, ...] = ()
    classes: dict[str, str] = {}
    values: tuple[bytes, ...] = ()


Command = Build | Restore | Convert
