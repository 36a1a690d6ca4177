"""State whose declared type changed is converted when a savepoint is restored, or the restore is refused before it starts."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.functions import KeyedBroadcastProcessFunction, KeyedProcessFunction
from compat.compiler.driver import Compilation
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.plan.encode import encode
from compat.plan.writing import plain
from compat.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from compat.state.types import TypeInformation, Types

L, S, P = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
NAMED = Types.ROW_NAMED
AB = NAMED(["a", "b"], [L, S])
CA = NAMED(["c", "a"], [L, Types.BIG_INT()])
NUMBERS = list(range(24))


def plan_of(compilation: Compilation) -> dict[str, Any]:
    return plain(encode(compilation))


class Keep(KeyedProcessFunction):
    """Gives what a state held before each record, and adds to it."""

    def __init__(self, descriptor: StateDescriptor, make: Any) -> None:
        self.descriptor = descriptor
        self.make = make

    def open(self, runtime_context: Any) -> None:
        ask = {
            "VALUE": runtime_context.get_state,
            "LIST": runtime_context.get_list_state,
            "MAP": runtime_context.get_map_state,
            "REDUCING": runtime_context.get_reducing_state,
        }
        self.state = ask[self.descriptor.kind](self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.descriptor.kind == "VALUE":
            held = self.state.value()
            self.state.update(self.make(value))
        elif self.descriptor.kind == "MAP":
            held = dict(self.state.items())
            self.state.put(value, self.make(value))
        else:
            held = self.state.get() if self.descriptor.kind == "REDUCING" else list(self.state.get())
            self.state.add(self.make(value))
        yield ctx.get_current_key(), held


def results(env: Any, descriptor: StateDescriptor, make: Any) -> list[tuple[Any, Any]]:
    numbers = env.from_collection(NUMBERS, L)
    return list(numbers.key_by(lambda n: n % 2, L).process(Keep(descriptor, make), P).uid("keep").execute_and_collect())


def restored(cluster: Any, old: tuple[StateDescriptor, Any], new: tuple[StateDescriptor, Any]) -> dict[Any, Any]:
    """The state of NEW for each key when its first record comes, after OLD read half of the numbers."""
    results(cluster.environment(2, epochs=2, epoch_records=6, plan_of=plan_of), *old)
    path = cluster.last.master.job.savepoint
    first: dict[Any, Any] = {}
    for key, held in results(cluster.environment(2, savepoint=path, plan_of=plan_of), *new):
        first.setdefault(key, held)
    return first


def made(n: int) -> Row:
    return Row(a=n, b=str(n))


def test_fields_of_a_value(cluster: Any) -> None:
    held = restored(
        cluster,
        (ValueStateDescriptor("s", AB), made),
        (ValueStateDescriptor("s", CA), lambda n: Row(c=0, a=n)),
    )
    assert held == {0: Row(c=None, a=10), 1: Row(c=None, a=11)}


def test_elements_of_a_list(cluster: Any) -> None:
    held = restored(
        cluster, (ListStateDescriptor("s", AB), made), (ListStateDescriptor("s", CA), lambda n: Row(c=0, a=n))
    )
    assert held[1] == [Row(c=None, a=n) for n in range(1, 12, 2)]


def test_values_of_a_map(cluster: Any) -> None:
    held = restored(
        cluster,
        (MapStateDescriptor("s", L, AB), lambda n: made(n) if n % 3 else None),
        (MapStateDescriptor("s", L, CA), lambda n: Row(c=0, a=n)),
    )
    assert held[1] == {n: Row(c=None, a=n) if n % 3 else None for n in range(1, 12, 2)}


def test_a_sum_that_grew_out_of_its_type(cluster: Any) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    held = restored(
        cluster,
        (ReducingStateDescriptor("s", add, L), lambda n: n),
        (ReducingStateDescriptor("s", add, Types.BIG_INT()), lambda n: n + 2**80),
    )
    assert held == {0: sum(range(0, 12, 2)), 1: sum(range(1, 12, 2))}


def test_a_migrated_state_can_be_migrated_again(cluster: Any) -> None:
    types = [AB, CA, NAMED(["a"], [Types.BIG_INT()])]
    path = None
    for type_info in types:
        options = {"epochs": 1, "epoch_records": 6, "plan_of": plan_of, "savepoint": path}
        names = type_info.get_field_names()
        held = results(
            cluster.environment(1, **options),
            ValueStateDescriptor("s", type_info),
            lambda n, names=names: Row(**dict.fromkeys(names, n)) if names != ["a", "b"] else made(n),
        )
        path = cluster.last.master.job.savepoint
    assert held[0] == (0, Row(a=10))


REFUSED: list[tuple[TypeInformation, TypeInformation]] = [
    (L, S),
    (AB, NAMED(["a", "b"], [L, L])),
    (P, L),
    (L, P),
    (Types.TUPLE([L]), Types.TUPLE([L, L])),
]


@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_refused_before_the_job_starts(cluster: Any, old: TypeInformation, new: TypeInformation) -> None:
    values = {L: lambda n: n, AB: made, P: lambda n: n, Types.TUPLE([L]): lambda n: (n,)}
    with pytest.raises(RestoreRefused, match=r"State 's' of operator .*(became|fields)"):
        restored(
            cluster, (ValueStateDescriptor("s", old), values[old]), (ValueStateDescriptor("s", new), lambda n: None)
        )


class Rules(KeyedBroadcastProcessFunction):
    def __init__(self, descriptor: MapStateDescriptor, make: Any) -> None:
        self.descriptor = descriptor
        self.make = make

    def process_element(self, value: Any, ctx: Any) -> Any:
        return []

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.descriptor).put(value, self.make(value))
        return []


def test_broadcast_state(cluster: Any) -> None:
    def run(descriptor: MapStateDescriptor, make: Any, **options: Any) -> str:
        env = cluster.environment(2, epoch_records=6, plan_of=plan_of, **options)
        numbers = env.from_collection(NUMBERS, L)
        rules = numbers.map(lambda n: n, L).uid("rules")
        keyed = numbers.key_by(lambda n: n % 2, L)
        checked = keyed.connect(rules.broadcast(descriptor)).process(Rules(descriptor, make), L).uid("check")
        list(checked.execute_and_collect())
        return cluster.last.master.job.savepoint

    first = run(MapStateDescriptor("rules", L, AB), made, epochs=1)
    second = run(MapStateDescriptor("rules", L, CA), lambda n: Row(c=0, a=n), epochs=1, savepoint=first)
    held = {row["map_key"]: row["value"] for row in state_rows(second, "check") if row["state"] == "rules"}
    assert held[0] == Row(c=None, a=0)
    assert held[11] == Row(c=0, a=11)
