"""The checker's facts about a program or a snapshot: the operators of its plan, and the other relevant parts.

Nothing here knows how a plan was made; a plan compiled a moment ago and one read from a file give the same facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from compat.plan.as_run import KEPT_BY, STORE
from compat.plan.earlier import operators_of
from compat.state.model.graphs import JobVertex
from compat.state.model.job import Assumed, Beyond, Language, Plan, Settings, Statement
from compat.state.model.operators import Operator
from compat.state.model.samples import Sample
from compat.state.model.source_line import SourceLine

if TYPE_CHECKING:
    from compat.state.flink.formats import KeyedFormat


class Vertex(Struct, frozen=True, kw_only=True):
    """A chain of operators: its id, its name and the ids of its operators, the head first.

    ``inputs`` are the vertices that it reads, each with whether a subtask reads only some of their subtasks (``POINTWISE``).
    """

    id: str
    name: str
    operators: tuple[str, ...]
    parallelism: int
    max_parallelism: int
    inputs: tuple[tuple[str, bool], ...] = ()


class StateFile(Struct, frozen=True, kw_only=True):
    """A file that a savepoint needs beside its metadata: its name as recorded, where it is (``local``, ``remote``,
    ``missing``, …), and the ids of the operators whose state is in it."""

    name: str
    status: str
    operators: tuple[str, ...]
    missing: bool


class Snapshot(Struct, frozen=True, kw_only=True):
    """The facts of a savepoint or checkpoint beside its operators.

    ``path`` is its ``_metadata``. ``formats`` has the format of their keyed state by the id of the operators that have
    any. ``without_timers`` are those whose keyed state is in files of RocksDB's own, without any queue of timers.
    ``types_known`` is true if the states' declared types are known from another source. ``newer`` is a snapshot of the
    same job
    beside this one that was taken later, the latest if there are several.
    """

    path: str
    format_version: int
    files: tuple[StateFile, ...] = ()
    formats: dict[str, KeyedFormat] = field(default_factory=dict)
    without_timers: frozenset[str] = frozenset()
    types_known: bool = False
    newer: str | None = None


class Program(Struct, frozen=True, kw_only=True, dict=True):
    """A job, or the snapshot of one, as facts.

    ``name`` is its name in reports (the file's name), ``kind`` one of ``program``, ``topology``, ``plan``, ``savepoint``,
    ``snapshot``. ``settings`` are the options that matter for a restore, ``source`` is the line that submitted the job.
    ``all_have_state`` is true if snapshots of this job contain handles for every operator (file merging), ``batch`` if it runs
    in batch mode. ``snapshot`` has the further facts of a savepoint, None for a program. ``language``, ``statements``,
    ``on_spark``, ``alone``, ``beyond``, ``assumed`` and ``samples`` are those of the plan; ``sides`` tells for each input of
    an operator of several inputs, which of them it is (a union has several edges for one).
    """

    name: str
    kind: str
    job_name: str
    flink: str
    operators: tuple[Operator, ...]
    vertices: tuple[Vertex, ...]
    settings: Settings
    source: SourceLine | None = None
    all_have_state: bool = False
    batch: bool = False
    snapshot: Snapshot | None = None
    language: Language | None = None
    statements: tuple[Statement, ...] = ()
    on_spark: bool = False
    alone: bool = False
    beyond: tuple[Beyond, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    sides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Operator]:
        """The operators by their ids."""
        return {operator.id: operator for operator in self.operators}

    @property
    def built_by_flink(self) -> bool:
        """True for a job in Java or SQL, whose operators were described by Flink's own classes."""
        return self.language in ("java", "sql")

    @property
    def kept_by_store(self) -> bool:
        """True for a job whose state is in a store of this project, not in Flink."""
        return bool(self.settings.get(KEPT_BY) == STORE)

    @property
    def uids(self) -> frozenset[str]:
        """The uids of all operators that have one."""
        return frozenset(operator.uid for operator in self.operators if operator.uid is not None)


def with_ids(program: Program, ids: Mapping[str, str]) -> Program:
    """The program with other operator ids, wherever they occur. An operator whose id another one gets is renamed apart."""
    apart = {id: f"once {id}" for id in ids.values() if id in program.by_id}
    known = {**apart, **ids}

    def now(id: str) -> str:
        return known.get(id, id)

    return replace(
        program,
        operators=tuple(
            replace(operator, id=now(operator.id), inputs=tuple(map(now, operator.inputs)))
            for operator in program.operators
        ),
        vertices=tuple(
            replace(
                vertex,
                id=now(vertex.id),
                operators=tuple(map(now, vertex.operators)),
                inputs=tuple((now(id), pointwise) for id, pointwise in vertex.inputs),
            )
            for vertex in program.vertices
        ),
        sides={now(id): sides for id, sides in program.sides.items()},
    )


def facts_of(plan: Plan, *, name: str, kind: str) -> Program:
    """The facts of a plan. ``name`` is the program's name in reports and ``kind`` the kind of its source."""
    return Program(
        name=name,
        kind=kind,
        job_name=plan.job_name,
        flink=plan.flink,
        operators=operators_of(plan),
        vertices=tuple(_vertex(vertex) for vertex in plan.job_graph.vertices),
        settings=plan.settings,
        source=plan.source or None,
        all_have_state=bool(plan.settings.get("execution.checkpointing.file-merging.enabled")),
        batch=plan.stream_graph.job_type == "BATCH",
        language=plan.language,
        statements=plan.statements,
        on_spark=plan.on_spark,
        alone=plan.alone,
        beyond=plan.beyond,
        samples=plan.samples,
        assumed=plan.assumed,
        sides=_sides(plan) if any(one.description is not None for one in plan.operators) else {},
    )


def _sides(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The inputs of each operator of several, by the numbers that Flink gives to the sides of a join."""
    edges = plan.stream_graph.edges
    return {
        plan.hashes[str(node.id)]: tuple(edges[one].type_number for one in node.inputs)
        for node in plan.stream_graph.nodes
        if len(node.inputs) > 1
    }


def _vertex(vertex: JobVertex) -> Vertex:
    return Vertex(
        id=vertex.id,
        name=vertex.name,
        operators=tuple(operator.id for operator in reversed(vertex.operators)),
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        inputs=tuple((edge.source, edge.distribution_pattern == "POINTWISE") for edge in vertex.inputs),
    )
