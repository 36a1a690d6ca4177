"""A job in four layers, or the reason for which there is none: what ``compat plan`` prints and what is kept beside a job.

These records are the only description of a plan: readers make them, rules read them, and their JSON is the plan. The JSON omits
optional fields without a value.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypedDict

from msgspec import UNSET, Meta, UnsetType, field

from compat.state.model.fields import Id, Index, Int, Long, Record, written
from compat.state.model.graphs import ExecutionGraph, JobGraph, StreamGraph
from compat.state.model.operators import Operator
from compat.state.model.samples import Sample
from compat.state.model.source_line import SourceLine

FORMAT = 2
"""The version of the plan's JSON. It changes when a reader of the old one could misread the new one."""


Language = Literal["python", "java", "sql", "topology"]
"""The languages in which a job can be written."""


STATE_BACKEND: Final = "state.backend.type"
PYTHON_EXECUTION_MODE: Final = "python.execution-mode"

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
    """The refusal of a program by Flink: the stage and its entry or operator, Flink's exception, and the place in the program.

    ``code`` is a word for the error that stays when the message changes, ``value`` the wrong text that the program gave, if
    there is one; plans of version 0.1.0 have neither.
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
        """The text of the refusal; it says that Flink refuses the program only if there is an exception of Flink's."""
        if "." in self.class_name:
            return f"Flink refuses the program ({self.stage}): {self.message}"
        return f"No job can be made of it: {self.message}"


Line = tuple[Index, str]
"""A line of a program: its number, from 1, and its text."""


class Statement(Record, frozen=True, kw_only=True):
    """A statement of a job in SQL, and its place."""

    text: str
    file: str
    line: Index


class Assumed(Record, frozen=True, kw_only=True):
    """The assumed inputs of a job, which were not given.

    It is an option with its default, missing arguments that the program read, an environment variable that it read during the
    build, a missing file of settings that it passes on as a whole, or the release of a connector whose jar was missing.
    """

    what: Literal["option", "arguments", "variable", "settings", "connector"]
    name: str = ""


class Beyond(Record, frozen=True, kw_only=True):
    """A name that the program used and PyFlink lacks, and the line of its first use.

    ``when`` says what fails with PyFlink: the program before it submits the job (``built``) or after its last job (``ended``),
    or a function of the job (``run``).
    """

    name: str
    when: Literal["built", "run", "ended"] = "built"
    source: SourceLine | None = None


class _Job(Record, frozen=True, kw_only=True):
    """The facts known of a job, refused or not. ``file`` and ``job`` say which of several programs and of its jobs it is.

    ``program`` is the digest of its program: of the file for a jar, a script in SQL or a topology, of its own files for a
    program in Python. ``flink_assumed`` says that neither the user nor the program's dependencies named the version.
    """

    program: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    file: str | None = None
    job: Index | None = None
    format: Literal[1, 2] = written(FORMAT)
    flink: Annotated[str, Meta(description="The version whose rules were followed; empty before it was known.")]
    flink_assumed: bool = False


class Plan(_Job, frozen=True, kw_only=True):
    """One job in four layers: what compat plan --format json prints, and what it writes as a snapshot.

    Graph fields have Flink's names in snake case. New fields may appear; ``format`` changes when a field changes its meaning or
    is removed. ``hashes`` are operator ids by node, in the order in which Flink computes them, and ``user_hashes`` those from
    setUidHash. ``lines`` are the program's lines that the plan names, with their neighbours, by file. For a topology file,
    ``transformations`` are ids by label, and ``stream_plan`` is Flink's JSON plan if the file asks for it. ``statements`` are
    those of a job in SQL. ``on_spark`` marks a program written for Spark, ``alone`` one that makes its own execution
    environment, so that no client of Flink runs it. ``assumed`` are missing inputs that it depends on. ``nodes`` and the fields
    after it replace the graphs of a very large topology. ``otherwise`` is the plan with another default parallelism, if neither
    the program nor an option sets one and ids or chains depend on it. ``empty_savepoint`` is the ``_metadata`` that a job built
    by Flink would write before its first record: it has the serializers of its states, but no values. ``samples`` are made-up
    values of the states that the program's own code writes, in its form.
    """

    job_name: str
    error: None = written(None)
    language: Language | None = None
    source: SourceLine | UnsetType | None = UNSET
    statements: tuple[Statement, ...] = ()
    on_spark: bool = False
    alone: bool = False
    beyond: tuple[Beyond, ...] = ()
    assumed: tuple[Assumed, ...] = ()
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
    samples: tuple[Sample, ...] = ()
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
    """A job that Flink refuses, with the graphs made before the refusal.

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
