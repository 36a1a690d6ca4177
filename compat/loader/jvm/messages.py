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
    milliseconds, the line that asks for it, and the function that folds its values."""

    name: str
    kind: str
    type: str
    ttl: int | None = None
    source: JavaFrame | None = None
    fold: UserCode | None = None


class PythonWindow(Struct, frozen=True, kw_only=True):
    """The parts of a window operator of PyFlink's DataStream API: ``namespace`` is the type of its windows,
    ``contents`` that of their contents, and ``fold`` the function that folds these. ``counts`` is the state in which its
    assigner counts records.
    """

    assigner: str
    text: str
    merging: bool
    event_time: bool
    trigger: str
    namespace: str
    contents: str
    fold: UserCode | None = None
    counts: str = ""


class PythonFunction(Struct, frozen=True, kw_only=True):
    """The Python function of an operator of PyFlink's DataStream API. ``unknown`` says why its states could not be found.

    ``adapter`` is the class that PyFlink wraps around the function; it shows which call was made. ``key_type`` is the type of
    the row that PyFlink makes for a key, None for an operator without keys. ``reduces`` marks PyFlink's own reduce, whose state
    has another name at every start. ``code`` is a digest of its code and its values, empty if there is none, ``made_with`` are
    digests of the plain values that it carries, and ``chained`` are the functions that the same operator runs after it.
    """

    name: str
    adapter: str = ""
    code: str = ""
    made_with: dict[str, str] = {}
    chained: tuple[PythonFunction, ...] = ()
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

    ``lateness`` is in milliseconds. ``function`` says what the windows hold: one value that combines all records, or the
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

    ``timers`` says whether the function's code registers timers, None if unknown. ``bounds`` are those of an interval join, in
    milliseconds. ``ends`` says whether it is a source that ends.
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

    ``operator_id`` is the operator's id in a savepoint: ``user_hash`` if there is one, else ``generated_id``. ``vertex`` is the
    JobVertex that runs it, ``source`` the line of the user's code that made it. ``called`` are the user's functions that an
    operator of a query calls. ``drawn`` is the method that gives its uid, if the uid differs at each start.
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

    ``savepoint`` is Flink's ``_metadata`` with the states of every operator, but no values. ``samples`` are made-up values of
    states that the program's own code writes. For a job in SQL, ``exec_plan`` is the JSON that ``COMPILE PLAN`` writes, and
    ``statements`` are the statements that made it. ``python`` marks a program in Python; ``parallelism_given`` says that the
    program or an option set the default parallelism. ``alone`` says that the program made its own execution environment;
    ``variables`` are the environment variables that it read.
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

    ``hint`` says what to do, ``option`` is the option to add for that, ``command`` a command to run first; ``lacks`` is the
    missing input of a program in Python. ``refused`` says that Flink refuses the submitted job, ``without_main`` that the class
    to run is missing. ``settings`` are files that the class path lacks, and whose settings the program passes to connectors as
    a whole.
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

    ``missed`` are the missing environment variables that it asked for, with the lines. ``absent`` are modules that are not
    installed, and not needed to build the job. ``former`` are calls that PyFlink no longer has and that change nothing.
    ``endless`` is the line on which it waited behind its jobs when it was ended.
    """

    crash: Crash | None = None
    missed: dict[str, JavaFrame] = {}
    absent: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    endless: str = ""


Backend = Literal["hashmap", "rocksdb", "any"]
NativeBackend = Literal["hashmap", "rocksdb"]
KeyedForm = Literal["canonical", "hashmap", "rocksdb"]
Moment = Literal["restore", "first-read", "checkpoint", "moved", "unfit"]
Resolved = Literal["as-is", "reconfigured", "after-migration", "incompatible", "failed", "other-kryo"]


class Part(Struct, frozen=True, kw_only=True):
    """A serializer of OLD's state beside NEW's: the result of ``resolveSchemaCompatibility``, or why it failed.

    Flink 2 has another Kryo than Flink 1, but its Kryo serializer does not say so: ``other-kryo`` does. ``lost`` are the fields
    of POJOs in it that OLD's classes had and NEW's lack, by class and name.
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

    ``at_first_read`` marks a failure when the backend reads a value, not at the restore. ``for_values`` marks one that occurs
    even with the operator's own state before the first record.
    """

    backend: Backend
    failure: RestoreFailure | None = None
    at_first_read: bool = False
    for_values: bool = False


class StateReading(Struct, frozen=True, kw_only=True):
    """The real values of a state that were restored on a backend and read: how many, and the first that failed.

    For the first failed value, ``failure`` is the error and ``at`` the time of the failure (``moved``: never, its fields have
    other values; ``unfit``: when a field is used whose content differs from its declaration). ``key_group`` is its place,
    ``key`` its key in words, or the timer; ``made_up`` says that it is not a real value. If the failing state is unknown, a
    state without a name stands for all states of the operator. Values after a failure are not read. ``used`` is the last use of
    a value with a time to live, in milliseconds since 1970.
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

    ``misplaced`` is the number of values in another key group than their key's present hash gives, where no lookup finds them.
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


class Wrote(Struct, frozen=True, kw_only=True, tag="wrote"):
    """The answer to :class:`WriteKeyed`; ``failure`` is what Flink said if it did not write."""

    failure: str = ""


Message = Restored | Converted | Wrote | Submitted | Stuck | Ended


class JarProgram(Struct, frozen=True, kw_only=True, tag="jar"):
    """A jar with the class whose ``main`` is to be run; the manifest names it if ``main_class`` is None.

    The class path has the folder ``before`` in front of the jars, and the folders ``after`` behind them. ``environment`` are
    the program's environment variables.
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
    ``job`` is the number of the job in the program. ``limit`` is the number of real values to restore; without it they are the
    values in the heads of files, which are read anyway. ``samples`` are made-up values from OLD's program.
    """

    metadata: bytes = b""
    folder: str = ""
    job: int = 0
    limit: Limit | None = None
    samples: tuple[Sample, ...] = ()


class Convert(Struct, frozen=True, kw_only=True, tag="convert"):
    """A task of the child: write values with the classes of a job of the program that it has built last.

    ``new`` and ``old`` are snapshots of serializers, as ``writeVersionedSnapshot`` writes them. ``kind`` is the state's kind.
    With ``BROADCAST`` a value is a whole broadcast state, and ``keys`` is the snapshot for its keys, which stay the same.
    ``classpath`` are OLD's jars, if OLD's classes have to read the values. ``fields``, ``constants`` and ``without`` are those
    of recipes; ``classes`` are OLD's classes with other names in NEW. ``flink`` are the jars of the Flink that reads the
    values, if that is not NEW's. With ``hashes`` the values are NEW's keys, and the answer has their hash codes.
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


class WriteKeyed(Struct, frozen=True, kw_only=True, tag="write-keyed"):
    """A task of the child: write the keyed state of an operator of a savepoint in the canonical form, or a backend's own.

    ``metadata`` is the file with the savepoint's metadata, which is changed; its state comes into the folder of that file.
    The operator of the job with this id restores it, which may take ``seconds`` longer than a program.
    """

    job: int = 0
    metadata: str
    operator: str
    form: KeyedForm
    seconds: float = 0.0


Command = Build | Restore | Convert | WriteKeyed
