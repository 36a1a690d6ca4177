"""For any two versions of a program, the verdict of the check and what a restore does agree."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from compat.check.decision import check
from compat.check.findings import Verdict
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.driver import Compilation
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.plan.as_run import as_run
from compat.plan.encode import encode
from compat.plan.facts import facts_of
from compat.plan.reading import from_plain
from compat.plan.writing import plain
from compat.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from compat.state.types import RowTypeInfo, TypeInformation, Types
from tests.compiler.spark.conftest import Cluster

L, S = Types.LONG(), Types.STRING()
NUMBERS = list(range(20))
HALF = 10


def row(*names: str) -> RowTypeInfo:
    """A row of numbers; a field whose name is a capital is text."""
    return Types.ROW_NAMED(list(names), [S if name.isupper() else L for name in names])


TYPES: list[TypeInformation] = [
    L,
    S,
    Types.BIG_INT(),
    row("a", "b"),
    row("b", "a"),
    row("a", "b", "c"),
    row("a", "B"),
    Types.ROW([L, L]),
    Types.TUPLE([L, S]),
    Types.LIST(L),
    Types.OBJECT_ARRAY(L),
    Types.LIST(row("a")),
    Types.LIST(row("a", "z")),
    Types.MAP(S, row("a")),
    Types.MAP(S, row("a", "z")),
    Types.PICKLED_BYTE_ARRAY(),
]
KEYS: list[TypeInformation] = [L, S, row("k"), row("l"), Types.TUPLE([L])]


def value_of(type_info: TypeInformation, n: int) -> Any:
    """The value that stands for a number."""
    match type_info.kind:
        case "STRING":
            return str(n)
        case "ROW":
            assert isinstance(type_info, RowTypeInfo)
            fields = zip(type_info.field_names, type_info.field_types, strict=True)
            return Row(**{name: value_of(field, n) for name, field in fields})
        case "TUPLE":
            return tuple(value_of(field, n) for field in type_info.children())
        case "LIST" | "OBJECT_ARRAY":
            return [value_of(type_info.children()[0], n)]
        case "MAP":
            return {"k": value_of(type_info.children()[1], n)}
    return n


def read_as(type_info: TypeInformation, old: TypeInformation, n: int) -> Any:
    """A number stored as ``old``, as a reader of the type sees it: fields that were not there are None."""
    value = value_of(type_info, n)
    if isinstance(type_info, RowTypeInfo) and isinstance(old, RowTypeInfo):
        if "f0" in (*type_info.field_names, *old.field_names):
            return value
        for name in set(type_info.field_names) - set(old.field_names):
            value[name] = None
    elif type_info.kind in ("LIST", "OBJECT_ARRAY"):
        value = [read_as(type_info.children()[0], old.children()[0], n)]
    elif type_info.kind == "MAP":
        value = {"k": read_as(type_info.children()[1], old.children()[1], n)}
    return value


class Version(Struct, frozen=True):
    """A version of the program: one keyed operator with one state."""

    kind: str
    type_info: TypeInformation
    state: str
    uid: str
    key: TypeInformation
    parallelism: int
    max_parallelism: int | None

    def descriptor(self) -> StateDescriptor:
        match self.kind:
            case "LIST":
                return ListStateDescriptor(self.state, self.type_info)
            case "MAP":
                return MapStateDescriptor(self.state, L, self.type_info)
            case "REDUCING":
                return ReducingStateDescriptor(self.state, lambda a, b: b, self.type_info)
        return ValueStateDescriptor(self.state, self.type_info)

    def held(self, numbers: list[int], old: TypeInformation) -> Any:
        """The state after these numbers of one key, stored as ``old``, as this version reads it."""
        values = {n: read_as(self.type_info, old, n) for n in numbers}
        if self.kind == "LIST":
            return list(values.values())
        return values if self.kind == "MAP" else values[numbers[-1]]


class Keep(KeyedProcessFunction):
    def __init__(self, version: Version) -> None:
        self.version = version

    def open(self, runtime_context: Any) -> None:
        descriptor = self.version.descriptor()
        ask = {"VALUE": "get_state", "LIST": "get_list_state", "MAP": "get_map_state", "REDUCING": "get_reducing_state"}
        self.state = getattr(runtime_context, ask[descriptor.kind])(descriptor)

    def process_element(self, n: int, ctx: Any) -> Any:
        value = value_of(self.version.type_info, n)
        match self.version.kind:
            case "VALUE":
                held = self.state.value()
                self.state.update(value)
            case "MAP":
                held = dict(self.state.items())
                self.state.put(n, value)
            case "LIST":
                held = list(self.state.get())
                self.state.add(value)
            case _:
                held = self.state.get()
                self.state.add(value)
        yield n, held


def run(cluster: Cluster, version: Version, plans: list[dict[str, Any]], **options: Any) -> list[tuple[int, Any]]:
    """The contents of the state when each number came; the plan is added to ``plans``."""

    def plan_of(compilation: Compilation) -> dict[str, Any]:
        plans.append(plain(as_run(encode(compilation))))
        return plans[-1]

    env = cluster.environment(version.parallelism, plan_of=plan_of, **options)
    if version.max_parallelism is not None:
        env.set_max_parallelism(version.max_parallelism)
    numbers = env.from_collection(NUMBERS, L)
    keyed = numbers.key_by(lambda n: value_of(version.key, n % 2), version.key)
    kept = keyed.process(Keep(version), Types.PICKLED_BYTE_ARRAY()).uid(version.uid)
    return list(kept.execute_and_collect())


VERSIONS = st.builds(
    Version,
    kind=st.sampled_from(["VALUE", "VALUE", "LIST", "MAP", "REDUCING"]),
    type_info=st.sampled_from(TYPES),
    state=st.just("s"),
    uid=st.just("keep"),
    key=st.just(L),
    parallelism=st.just(2),
    max_parallelism=st.none(),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Version, Version]:
    """An old version, and a new one in which one or two things changed."""
    old = draw(VERSIONS)
    changes = {
        "kind": st.sampled_from(["VALUE", "LIST", "MAP", "REDUCING"]),
        "type_info": st.sampled_from(TYPES),
        "state": st.sampled_from(["s", "t"]),
        "uid": st.sampled_from(["keep", "kept"]),
        "key": st.sampled_from(KEYS),
        "parallelism": st.sampled_from([1, 2, 3]),
        "max_parallelism": st.sampled_from([None, 128, 64]),
    }
    changed = draw(st.lists(st.sampled_from(["type_info", *changes]), min_size=1, max_size=2, unique=True))
    return old, replace(old, **{name: draw(changes[name]) for name in changed})


@pytest.fixture
def cluster_of() -> Iterator[Any]:
    """Makes clusters of their own, one for each example."""
    folders: list[str] = []

    def make() -> Cluster:
        folders.append(tempfile.mkdtemp())
        return Cluster(Path(folders[-1]))

    yield make
    start(Program())
    for folder in folders:
        shutil.rmtree(folder)


def agree(cluster: Cluster, old: Version, new: Version) -> None:
    """Restore NEW from a savepoint of OLD, and compare what it finds with what the check says."""
    plans: list[dict[str, Any]] = []
    run(cluster, old, plans, epochs=1, epoch_records=HALF)
    try:
        results = dict(run(cluster, new, plans, savepoint=cluster.last.master.job.savepoint))
    except RestoreRefused:
        results = None
    report = check(
        *(
            facts_of(from_plain(plan), name=name, kind="program")
            for plan, name in zip(plans, ("old", "new"), strict=True)
        )
    )
    titles = [finding.title for finding in report.findings]
    dropped = old.state != new.state and any(finding.rule == "CMP401" for finding in report.findings)
    if report.verdict is Verdict.INCOMPATIBLE or dropped:
        assert results is None or all(results[n] in (None, [], {}) for n in (HALF, HALF + 1)), titles
        return
    assert report.verdict in (Verdict.COMPATIBLE, Verdict.MIGRATION), titles
    assert results is not None, "refused, and the check saw nothing"
    for first in (HALF, HALF + 1):
        before = [n for n in NUMBERS[:HALF] if n % 2 == first % 2]
        assert results[first] == new.held(before, old.type_info), titles


LAW = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@given(pair=pairs())
@settings(LAW, max_examples=25)
def test_verdict_and_restore_agree(cluster_of: Any, pair: tuple[Version, Version]) -> None:
    agree(cluster_of(), *pair)


@pytest.mark.slow
@given(pair=pairs())
@settings(LAW, max_examples=400)
def test_verdict_and_restore_agree_on_many(cluster_of: Any, pair: tuple[Version, Version]) -> None:
    agree(cluster_of(), *pair)
