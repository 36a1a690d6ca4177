"""Random topologies with state, as programs in Java have them.

A topology is an object of JSON, as its file has it: ``{"env": {...}, "ops": [...]}``.
"""

from __future__ import annotations

from random import Random
from typing import Any

from compat.compiler.errors import ProgramError
from compat.compiler.streamgraph.generator import generate
from compat.compiler.streamgraph.hashing import generate_hashes
from compat.compiler.topology.build import build_job, transformation_ids

Topology = dict[str, Any]
Op = dict[str, Any]

TYPES = ("Long", "Long", "Integer", "Double", "String")
KINDS = ("value", "value", "list", "map", "reducing", "aggregating")
SOURCES = ("legacy_source", "source_unbounded", "source")
NOT_KEYED = ("map", "flat_map", "process", "filter", "assign_timestamps", "async_wait", "window_all")
KEYED = (
    "keyed_process",
    "keyed_process",
    "keyed_process",
    "map",
    "flat_map",
    "process",
    "filter",
    "reduce",
    "sum",
    "window",
)
CONNECTED = ("connect_map", "connect_flat_map", "connect_process")
PARTITIONINGS = ("rebalance", "rescale", "shuffle", "global", "broadcast", "forward")
SINKS = ("sink", "sink", "legacy_sink", "print")
WINDOWS = (
    "tumbling_processing_time",
    "session_processing_time",
    "count",
    "count_slide",
    "tumbling_event_time",
    "sliding_event_time",
)
VIRTUAL = (*PARTITIONINGS, "key_by", "union", "side_output")
WITH_KEYED_STATE = ("keyed_process", "map", "flat_map", "process", "filter")
WITH_OPERATOR_STATE = (*WITH_KEYED_STATE, *CONNECTED, "legacy_source", "legacy_sink", "connect_keyed_process")
SETTINGS = (
    ("pipeline.operator-chaining.enabled", ("false",)),
    ("pipeline.operator-chaining.chain-operators-with-different-max-parallelism", ("false", "true")),
    ("pipeline.auto-generate-uids", ("false",)),
    ("pipeline.max-parallelism", ("64", "128", "200")),
    ("pipeline.object-reuse", ("true",)),
    ("execution.checkpointing.unaligned.enabled", ("true",)),
    ("execution.checkpointing.mode", ("AT_LEAST_ONCE",)),
    ("state.latency-track.keyed-state-enabled", ("true",)),
)
"""Settings that may be another in a next version, and their values."""
SAVED = ("canonical", "canonical", "native", "checkpoint", "checkpoint")
BACKEND = "state.backend.type"
TIMERS = "state.backend.rocksdb.timer-service.factory"
INCREMENTAL = "execution.checkpointing.incremental"
CHANGELOG = "state.changelog.enabled"
WITH_TIMERS = ("keyed_process", "connect_process", "connect_keyed_process", "keyed_broadcast_connect")
"""Calls of functions that can set timers, where all that they read is keyed."""
WITH_SIDE = (*WITH_TIMERS, "process", "broadcast_connect", "window")
"""Calls that have side outputs; a window that of late records."""
CLOCKS = (["event"], ["processing"], ["event", "processing"])
A_YEAR = 31_536_000_000
WITH_BROADCAST_STATE = ("broadcast_connect", "keyed_broadcast_connect")


class Drawing:
    """A topology in the making."""

    def __init__(self, random: Random, topology: Topology, named: float) -> None:
        self.random = random
        self.topology = topology
        self.named = named
        self._next = 1 + max((int(op["id"][1:]) for op in self.ops), default=0)

    @property
    def ops(self) -> list[Op]:
        """The calls, in the order of the program."""
        found: list[Op] = self.topology["ops"]
        return found

    def op(self, label: str) -> Op:
        """The call of a label."""
        return next(op for op in self.ops if op["id"] == label)

    def readers(self, label: str) -> list[Op]:
        """The calls that read a stream."""
        return [op for op in self.ops if label in op.get("inputs", ())]

    def keyed(self, label: str) -> bool:
        """Whether a stream is one of keys."""
        return bool(self.op(label)["kind"] == "key_by")

    def add(self, kind: str, *inputs: str, at: int | None = None, **fields: Any) -> str:
        """Make a call, and give its label."""
        op: Op = {"id": f"n{self._next}", "kind": kind}
        self._next += 1
        if inputs:
            op["inputs"] = list(inputs)
        op |= fields
        if kind not in VIRTUAL:
            if self.random.random() < self.named:
                op["uid"] = f"u-{op['id']}"
            self._states(op)
            self._timers(op)
            self._attributes(op)
        self.ops.insert(len(self.ops) if at is None else at, op)
        label: str = op["id"]
        return label

    def step(self, stream: str, at: int | None = None) -> str:
        """Some call of one input on a stream."""
        kind = self.random.choice(KEYED if self.keyed(stream) else NOT_KEYED)
        if kind != "window":
            return self.add(kind, stream, at=at)
        window = self.random.choice(WINDOWS)
        if window.endswith("event_time"):
            window = "tumbling_processing_time" if not self.timed(stream) else window
        functions = ("reduce", "reduce", "process", "sum") + ("aggregate",) * (window != "session_processing_time")
        return self.add(kind, stream, at=at, window=window, function=self.random.choice(functions))

    def state(self, op: Op, taken: set[str]) -> dict[str, Any]:
        """A state that an operator can have, under a name that is free."""
        keyed = bool(op.get("inputs")) and all(self.keyed(name) for name in op["inputs"])
        if op["kind"] in WITH_BROADCAST_STATE:
            scope = self.random.choice(("broadcast", "keyed" if op["kind"].startswith("keyed") else "broadcast"))
        elif keyed and op["kind"] in (*WITH_KEYED_STATE, "connect_keyed_process", *CONNECTED):
            scope = self.random.choice(("keyed",) * 4 + ("operator",))
        else:
            scope = self.random.choice(("operator",) * 4 + ("union",))
        letter = {"keyed": "s", "broadcast": "b"}.get(scope, "o")
        name = next(f"{letter}{number}" for number in range(9) if f"{letter}{number}" not in taken)
        kind = {"keyed": self.random.choice(KINDS), "broadcast": "map"}.get(scope, "list")
        type = self.random.choice(TYPES)
        if kind == "map":
            type = f"Map<{self.random.choice(('String', 'Long'))}, {type}>"
        state = {"name": name, "kind": kind, "scope": scope, "type": type}
        return state | {"ttl": A_YEAR} if scope == "keyed" and self.random.random() < 0.1 else state

    def takes_state(self, op: Op) -> bool:
        """Whether states can be declared for a call."""
        return op["kind"] in (*WITH_OPERATOR_STATE, *WITH_BROADCAST_STATE)

    def _states(self, op: Op) -> None:
        chance = {
            "keyed_process": 1.0,
            "connect_keyed_process": 1.0,
            "legacy_source": 0.3,
            "legacy_sink": 0.2,
            "filter": 0.1,
        }
        always = op["kind"] in WITH_BROADCAST_STATE
        if not self.takes_state(op) or not (always or self.random.random() < chance.get(op["kind"], 0.4)):
            return
        states: list[dict[str, Any]] = []
        if always:
            type = f"Map<String, {self.random.choice(TYPES)}>"
            states.append({"name": "b0", "kind": "map", "scope": "broadcast", "type": type})
        for _ in range(self.random.choice((1, 1, 2, 3))):
            states.append(self.state(op, {state["name"] for state in states}))
        op["states"] = states

    def takes_timers(self, op: Op) -> bool:
        """Whether a call's function can set timers."""
        inputs = op.get("inputs", ())
        return op["kind"] in WITH_TIMERS and all(map(self.keyed, inputs[:1] if "broadcast" in op["kind"] else inputs))

    def _timers(self, op: Op) -> None:
        if self.takes_timers(op) and self.random.random() < 0.4:
            op["about"] = {"timers": self.random.choice(CLOCKS)}

    def hash(self) -> str:
        """Some id of an operator."""
        return f"{self.random.getrandbits(128):032x}"

    def _attributes(self, op: Op) -> None:
        random = self.random
        single = op["kind"] == "window_all" or (op["kind"] == "legacy_source" and not op.get("parallelSource"))
        if random.random() < 0.04 and "uid" not in op and op["kind"] != "sink":
            op["uidHash"] = self.hash()
        if random.random() < 0.08 and not single:
            op["parallelism"] = random.choice((1, 2, 3))
        if random.random() < 0.05 and not single:
            op["maxParallelism"] = random.choice((64, 200))
        if random.random() < 0.08 and op["kind"] not in SINKS and op["kind"] not in SOURCES:
            op["chaining"] = random.choice(("disable", "new_chain"))
        if random.random() < 0.04:
            op["slotSharingGroup"] = "g"
        if random.random() < 0.08:
            op["name"] = f"the {op['kind']}"

    def timed(self, stream: str) -> bool:
        """Whether all records of a stream have a time."""
        op = self.op(stream)
        if op["kind"] == "assign_timestamps":
            return True
        return bool(op.get("inputs")) and all(self.timed(name) for name in op["inputs"])

    def source(self, kind: str, at: int | None = None) -> str:
        """Some source."""
        fields = {"parallelSource": self.random.random() < 0.4} if kind == "legacy_source" else {}
        return self.add(kind, at=at, **fields)

    def sink(self, stream: str) -> str:
        """Some sink of a stream."""
        kind = self.random.choice(SINKS)
        fields = {"topology": "committer"} if kind == "sink" and self.random.random() < 0.3 else {}
        return self.add(kind, stream, **fields)

    def ids(self) -> dict[str, str]:
        """The ids of the operators, by label; without those of sinks of several operators."""
        try:
            hashes = generate_hashes(generate(build_job(self.topology)))
        except ProgramError:
            return {}
        return {label: hashes[node] for label, node in transformation_ids(self.topology).items() if node in hashes}

    def leaves(self) -> list[str]:
        """The streams that nobody reads."""
        read = {name for op in self.ops for name in op.get("inputs", ())}
        return [op["id"] for op in self.ops if op["id"] not in read and op["kind"] not in SINKS]

    def key_by(self, stream: str, at: int | None = None) -> str:
        """The stream by key."""
        return self.add("key_by", stream, at=at, keyType=self.random.choice(("long", "long", "string")))

    def plain(self) -> list[str]:
        """The streams that are not by key."""
        return [op["id"] for op in self.ops if op["kind"] not in (*SINKS, "key_by")]


def draw(random: Random) -> Drawing:
    """A topology of one or two sources and up to eight calls behind them; what nobody reads goes into sinks."""
    named = random.choice((0.0, 0.0, 0.5, 0.9, 1.0, 1.0))
    env: dict[str, Any] = {"parallelism": random.choice((1, 1, 2, 3))}
    if random.random() < 0.1:
        env["maxParallelism"] = random.choice((64, 200))
    if random.random() < 0.1:
        env["chaining"] = False
    drawing = Drawing(random, {"name": "job", "env": env, "ops": []}, named)
    kind = random.choice(SOURCES)
    for _ in range(random.choice((1, 1, 2))):
        drawing.source(kind if kind == "source" else random.choice(SOURCES[:2]))
    for _ in range(random.randint(2, 7)):
        _grow(drawing)
    for stream in drawing.leaves():
        drawing.sink(stream)
    return drawing


def _grow(drawing: Drawing) -> None:
    random = drawing.random
    leaves = drawing.leaves()
    stream = random.choice(leaves) if random.random() < 0.8 else random.choice(drawing.plain())
    others = [leaf for leaf in leaves if leaf != stream]
    what = random.random()
    if drawing.op(stream)["kind"] in WITH_SIDE and what > 0.88:
        drawing.add("side_output", stream, tag="side")
    elif what < 0.45 or (what > 0.75 and not others):
        drawing.step(drawing.key_by(stream))
    elif what < 0.68:
        drawing.step(stream)
    elif what < 0.75:
        drawing.add(random.choice(PARTITIONINGS[:5]), stream)
    elif what < 0.83:
        drawing.add("union", stream, random.choice(others))
    elif what < 0.87:
        drawing.add(random.choice(CONNECTED), stream, random.choice(others))
    elif what < 0.94:
        by = drawing.key_by(stream)
        other = drawing.add("key_by", random.choice(others), keyType=drawing.op(by)["keyType"])
        drawing.add(random.choice(("connect_keyed_process", *CONNECTED)), by, other)
    elif what < 0.97:
        drawing.add("broadcast_connect", stream, random.choice(others))
    else:
        drawing.add("keyed_broadcast_connect", drawing.key_by(stream), random.choice(others))


def settings(random: Random, topology: Topology) -> None:
    """Set where and how the job keeps its state."""
    config: dict[str, str] = {}
    if random.random() < 0.85:
        config[BACKEND] = random.choice(("hashmap", "rocksdb"))
    if config.get(BACKEND) == "rocksdb" and random.random() < 0.2:
        config[TIMERS] = "HEAP"
    if random.random() < 0.5:
        config[INCREMENTAL] = "true"
    if random.random() < 0.2:
        config[CHANGELOG] = "true"
        if random.random() < 0.5:
            config["state.changelog.periodic-materialize.interval"] = "50 ms"
    if config:
        topology["env"]["config"] = config
