"""State in memory: what a plain dict would hold, whatever is spilled, written behind, lost, or changed without saying so."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from compat.compiler.configuration import parse_bytes
from compat.compiler.datastream.functions import KeyedProcessFunction, MapFunction
from compat.compiler.errors import FlinkError
from compat.compiler.spark.state import cells
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import MANAGED_MEMORY, Memory, budget_of
from compat.compiler.spark.state.slots import plain_key
from compat.compiler.spark.state.timers import InternalTimers
from compat.compiler.spark.task.epochs import stateful_vertices
from compat.state.delta.replica import MemoryReplica, Position, entry_of
from compat.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from compat.state.serializers import exactness_of, key_codec_of
from compat.state.types import Types

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


NAMES = [f"key-{n}" for n in range(12)]
USUAL = dict(zip(NAMES, NAMES, strict=True))
ALIKE = dict(
    zip(
        NAMES,
        [1, True, 1.0, 0, 0.0, -0.0, float("nan"), ("a", 1), ("a", True), ["a", 1], Decimal(1), None],
        strict=True,
    )
)
"""Keys by the names that a model knows them by."""


class Subtask:
    """A subtask that goes from epoch to epoch, and may begin anew from its log at any of them."""

    def __init__(self, seed: int, value_type: Any, make: Callable[[int], Any], keys: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.keys, self.key_type = keys, Types.STRING() if keys is USUAL else None
        self.make = make
        self.value_type = value_type
        self.epoch = 0
        self.log: list[Any] = []
        self.budget = self.random.choice((0, 2000, 1 << 30))
        self.has_windows, self.looks_often = self.random.choice((True, False)), self.random.choice((True, False))
        self.restart()

    def restart(self) -> None:
        """A new process, whose replica was made anew."""
        self.replica = MemoryReplica()
        codec = key_codec_of(self.key_type)
        entries = {}
        for row in self.log:
            key, value = entry_of(row, codec.identity)
            entries[key] = None if row.value is None else value
        self.replica.apply(entries, None, Position(self.epoch, ""))
        self.backend = KeyedBackend("operator", codec, 128, self.key_type)
        self.open(Memory(self.replica, self.replica.position, self.budget))
        self.timers = InternalTimers(self.backend, lambda: 0)

    def open(self, memory: Memory) -> None:
        self.memory = memory
        self.backend.begin(memory, lambda: 0)
        self.value = self.backend.cells(ValueStateDescriptor("value", self.value_type))
        self.list = self.backend.cells(ListStateDescriptor("list", self.value_type))
        self.map = self.backend.cells(MapStateDescriptor("map", Types.STRING(), self.value_type))
        self.sum = self.backend.cells(ReducingStateDescriptor("sum", int.__add__, Types.LONG()))

    def run(self, model: dict[str, Any]) -> None:
        """An epoch of random calls, each held against the model."""
        draw = self.random
        self.backend.begin(self.memory, lambda: 0)
        self.timers.begin(lambda: 0, 0)
        for _ in range(draw.randrange(1, 30)):
            key = draw.choice(NAMES)
            self.backend.set_key(copy.deepcopy(self.keys[key]))
            if self.has_windows and draw.random() < 0.3:
                window = b"window-%d" % draw.randrange(2)
                self.backend.set_namespace(window)
                key = f"{key}/{window!r}"
            known = model.setdefault(key, {"value": None, "list": [], "map": {}, "timers": set(), "sum": None})
            self.act(known, draw)
            if self.looks_often or draw.random() < 0.1:
                assert self.value.value() == known["value"]
                assert self.sum.get() == known["sum"]
                assert list(self.list.get()) == known["list"]
                assert dict(self.map.items()) == known["map"]
            if not self.has_windows and draw.random() < 0.2:
                self.add_to_many(model, draw)
        changes = Changes()
        self.backend.snapshot(changes)
        self.timers.snapshot(changes)
        self.log += changes.all_rows()
        self.epoch += 1
        self.memory.take(changes)
        match draw.randrange(6):
            case 0:
                self.memory.save(Position(self.epoch, ""))
            case 1:
                self.restart()
            case 2 if self.memory.is_due:
                self.memory.save(Position(self.epoch, ""))

    def act(self, known: dict[str, Any], draw: random.Random) -> None:
        new, name = self.make(draw.randrange(100)), f"name-{draw.randrange(3)}"
        match draw.randrange(15):
            case 0 | 1:
                self.value.update(new)
                known["value"] = new
            case 2:
                self.value.clear()
                known["value"] = None
            case 3:
                self.list.add(new)
                known["list"].append(new)
            case 4:
                self.list.clear()
                known["list"] = []
            case 5 | 6:
                self.map.put(name, new)
                known["map"][name] = new
            case 7 if self.map.contains(name):
                self.map.remove(name)
                del known["map"][name]
            case 8:
                time = draw.randrange(1000)
                self.timers.event.register(time)
                known["timers"].add(time)
            case 9 if known["timers"]:
                time = draw.choice(sorted(known["timers"]))
                self.timers.event.delete(time)
                known["timers"].discard(time)
            case 10:
                assert self.map.get(name) == known["map"].get(name)
            case 12 | 13:
                self.sum.add(1)
                known["sum"] = (known["sum"] or 0) + 1
            case 14:
                self.sum.clear()
                known["sum"] = None

    def add_to_many(self, model: dict[str, Any], draw: random.Random) -> None:
        """As sums do with records that come together."""
        keys = {key for key in model if draw.random() < 0.5}
        slots = {self.backend.slots.of(self.keys[key]): key for key in keys}
        for slot, pair in self.sum.many(set(slots)).items():
            key = slots[slot]
            assert pair[0] == model[key]["sum"]
            pair[0] = model[key]["sum"] = (model[key]["sum"] or 0) + 1


@pytest.mark.parametrize(
    ("value_type", "make"),
    [
        (Types.LONG(), lambda n: n),
        (Types.STRING(), str),
        (PAIR, lambda n: (str(n), n)),
        (Types.PICKLED_BYTE_ARRAY(), lambda n: {"n": n}),
        (Types.LIST(Types.LONG()), lambda n: [n]),
    ],
)
@pytest.mark.parametrize("keys", [USUAL, ALIKE], ids=["usual", "alike"])
def test_state_is_what_a_dict_would_hold(
    value_type: Any, make: Callable[[int], Any], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_MANY", 4)  # in columns, too
    for seed in range(30):
        subtask, model = Subtask(seed, value_type, make, keys), dict[str, Any]()
        for _ in range(12):
            subtask.run(model)
        fired = [(time, key, namespace) for time, key, namespace in subtask.timers.event.due(2000)]
        assert [time for time, _, _ in fired] == sorted(time for each in model.values() for time in each["timers"])


class Remembering(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", PAIR))

    def map(self, value: Any) -> Any:
        self.last.update(value)
        return value


class Careless(KeyedProcessFunction):
    """Changes what it read, and does not say so but at every tenth record."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LIST(Types.LONG())))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1] == 0:
            self.value.update([0])
            self.map.put("k", [0])
            self.list.add([0])
            return
        held, mapped, listed = self.value.value(), self.map.get("k"), next(iter(self.list.get()))
        yield value[1], list(held), list(mapped), list(listed)
        for each in (held, mapped, listed):
            each.append(value[1])
        if value[1] == 5:
            self.value.update(held)


@pytest.mark.parametrize("budget", ["0 b", "512m"])
def test_what_is_changed_without_an_update_is_not_stored(cluster: Any, budget: str) -> None:
    env = cluster.environment(1, epoch_records=1)
    env.configuration.set_string(MANAGED_MEMORY, budget)
    stream = env.from_collection([("a", number) for number in range(9)], PAIR)
    found = list(stream.key_by(lambda p: p[0], Types.STRING()).process(Careless()).execute_and_collect())
    assert [each[1] for each in found] == [[0]] * 5 + [[0, 5]] * 3
    assert [each[2:] for each in found] == [([0], [0])] * 8


def test_a_value_is_what_its_type_makes_of_it_in_the_next_epoch(cluster: Any) -> None:
    class Loose(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.DOUBLE()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield repr(self.value.value())
            self.value.update(value[1])

    env = cluster.environment(1, epoch_records=1)
    stream = env.from_collection([("a", number) for number in range(3)], PAIR)
    found = list(stream.key_by(lambda p: p[0], Types.STRING()).process(Loose()).execute_and_collect())
    assert found == ["None", "0.0", "1.0"]


@pytest.mark.parametrize(
    ("type_info", "value", "exact"),
    [
        (Types.LONG(), 1, True),
        (Types.LONG(), True, False),
        (Types.DOUBLE(), 1, False),
        (Types.FLOAT(), 0.1, False),
        (PAIR, ("a", 1), True),
        (PAIR, ("a", None), True),
        (PAIR, ["a", 1], False),
        (Types.PICKLED_BYTE_ARRAY(), ("a", (1, b"")), True),
        (Types.PICKLED_BYTE_ARRAY(), ("a", [1]), False),
        (Types.LIST(Types.LONG()), [1], False),
        (None, "a", True),
    ],
)
def test_what_may_stay_in_memory_as_it_is(type_info: Any, value: Any, exact: bool) -> None:
    assert exactness_of(type_info)(value) is exact


def test_a_memory_goes_on_only_on_the_replica_that_it_left() -> None:
    replica = MemoryReplica()
    replica.apply({}, None, Position(1, "a"))
    memory = Memory(replica, Position(1, "a"))
    assert memory.stands_on(replica)
    replica.apply({}, Position(1, "a"), Position(2, "b"))
    assert not memory.stands_on(replica)
    with pytest.raises(RuntimeError, match="another attempt"):
        memory.save(Position(2, "c"))


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("512m", 512 << 20), ("1 gb", 1 << 30), ("2 KiBibytes", 2048)]
)
def test_sizes_are_spelled_as_in_flink(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "m", "1.5g", "-1m", "1 x"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(FlinkError, match="memory size"):
        parse_bytes(text)


def test_a_slot_shares_its_memory() -> None:
    options = {MANAGED_MEMORY: "1g", "taskmanager.numberOfTaskSlots": "2"}
    assert budget_of(options, 4) == (1 << 30) // 8
    assert budget_of({}, 1) == 512 << 20


@pytest.mark.parametrize(
    ("make", "stateful"),
    [
        (lambda keyed: keyed.map(len), False),
        (lambda keyed: keyed.filter(bool), False),
        (lambda keyed: keyed.map(Remembering()), True),
        (lambda keyed: keyed.reduce(lambda a, b: a), True),
    ],
)
def test_only_what_can_have_state_needs_a_process_of_its_own(cluster: Any, make: Any, stateful: bool) -> None:
    env = cluster.environment(1)
    make(env.from_collection([("a", 1)], PAIR).key_by(lambda p: p[0], Types.STRING())).print()
    env.execute()
    assert bool(stateful_vertices(cluster.last.master.job.plan)) is stateful


def test_a_wrong_size_is_told_before_the_job_starts(cluster: Any) -> None:
    env = cluster.environment(1)
    env.configuration.set_string(MANAGED_MEMORY, "much")
    env.from_collection([1], Types.LONG()).print()
    with pytest.raises(FlinkError, match="memory size 'much'"):
        env.execute()


def test_timers_fire_in_the_order_of_time_whatever_is_set_meanwhile() -> None:
    backend = KeyedBackend("operator", key_codec_of(Types.STRING()), 128, Types.STRING())
    backend.begin(Memory(MemoryReplica()), lambda: 0)
    timers = InternalTimers(backend, lambda: 0).event

    def at(key: str, act: Callable[[int], None], time: int) -> None:
        backend.set_key(key)
        act(time)

    for key, time in (("b", 10), ("c", 20), ("a", 10), ("d", 10), ("c", 10)):
        at(key, timers.register, time)
    fired = []
    for time, key, _ in timers.due(30):
        fired.append((time, key))
        if fired == [(10, "a")]:
            at("early", timers.register, 5)
            at("c", timers.delete, 10)
            at("late", timers.register, 10)
            at("a", timers.register, 31)
    assert fired == [(10, "a"), (5, "early"), (10, "b"), (10, "d"), (10, "late"), (20, "c")]
    assert timers.next() == 31
    changes = Changes()
    timers.snapshot(changes)
    assert [(row.timestamp, row.key) for row in changes.all_rows()] == [(31, b"a")]


@pytest.mark.parametrize("key_type", [Types.LONG(), Types.PICKLED_BYTE_ARRAY()], ids=["numbers", "pickled"])
@pytest.mark.parametrize("count", [5, 50])
def test_timers_of_a_time_fire_in_the_order_of_their_keys_bytes_however_many(key_type: Any, count: int) -> None:
    codec = key_codec_of(key_type)
    backend = KeyedBackend("operator", codec, 128, key_type)
    backend.begin(Memory(MemoryReplica()), lambda: 0)
    timers = InternalTimers(backend, lambda: 0).event
    keys: list[Any] = [number * 2654435761 % 100_003 for number in range(count)]
    if key_type.kind == "PICKLED_BYTE_ARRAY":
        keys += [True, 1.5, ("a", 2), [1, 2]]  # which are found by their identities
    wanted = []
    for number, key in enumerate(keys):
        backend.set_key(key)
        namespace = b"window-%d" % (number % 3) if number % 2 else b""
        backend.set_namespace(namespace)
        timers.register(10)
        timers.register(10)
        wanted.append((codec.encode(key), namespace))
    fired = [(codec.encode(plain_key(slot)), namespace) for _, slot, namespace in timers.due(10)]
    assert fired == sorted(wanted)


def test_timers_that_came_and_went_leave_nothing() -> None:
    """Neither those that were set and fired in one epoch, nor those that the log had."""
    backend = KeyedBackend("operator", key_codec_of(Types.LONG()), 128, Types.LONG())
    memory = Memory(MemoryReplica())
    backend.begin(memory, lambda: 0)
    timers = InternalTimers(backend, lambda: 0)
    rows = []
    for epoch in range(1, 40):
        timers.begin(lambda: 0, 0)
        for key in range(20):
            backend.set_key(key)
            timers.event.register(10 * epoch)
            timers.event.register(10 * epoch + 15)
        assert len(list(timers.event.due(10 * epoch + 9))) == (20 if epoch == 1 else 40)
        changes = Changes()
        timers.snapshot(changes)
        rows.append(len(changes))
        memory.take(changes)
    assert rows == [20, *[40] * 38]  # set and gone, but for those of the epoch itself
    parts = (timers.event._live, timers.event._changed, timers.event._added, timers.event._removed, timers.event._times)
    assert max(map(len, parts)) <= 2
    assert len(timers.event) == 20
