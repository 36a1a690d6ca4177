"""Random topologies with state, as programs in Java have them, and what becomes of them in their next versions.

A topology is an object of JSON, as its file has it: ``{"env": {...}, "ops": [...]}``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Topology = dict[str, Any]
Op = dict[str, Any]

TYPES = ("Long", "Long", "Integer", "Double", "String")
KINDS = ("value", "value", "list", "map", "reducing", "aggregating")
SOURCES = ("legacy_source", "source_unbounded", "source")
NOT_KEYED = ("map", "flat_map", "process", "filter", "assign_timestamps", "async_wait")
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
WINDOWS = ("tumbling_processing_time", "session_processing_time", "count", "count_slide", "tumbling_event_time")
VIRTUAL = (*PARTITIONINGS, "key_by", "union", "side_output")
WITH_KEYED_STATE = ("keyed_process", "map", "flat_map", "process", "filter")
WITH_OPERATOR_STATE = (*WITH_KEYED_STATE, *CONNECTED, "legacy_source", "legacy_sink", "connect_keyed_process")
WITH_BROADCAST_STATE = ("broadcast_connect", "keyed_broadcast_connect")


@dataclass(frozen=True)
class Version:
    """A next version: what was done to the first one, the topology, and whether state may be left behind."""

    edits: tuple[str, ...]
    topology: Topology
    allow: bool = False


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
            window = "tumbling_processing_time" if not self._timed(stream) else window
        functions = ("reduce", "reduce", "process", "sum") + ("aggregate",) * (window != "session_processing_time")
        return self.add(kind, stream, at=at, window=window, function=self.random.choice(functions))

    def state(self, op: Op, taken: set[str]) -> dict[str, str]:
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
        return {"name": name, "kind": kind, "scope": scope, "type": type}

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
        states: list[dict[str, str]] = []
        if always:
            type = f"Map<String, {self.random.choice(TYPES)}>"
            states.append({"name": "b0", "kind": "map", "scope": "broadcast", "type": type})
        for _ in range(self.random.choice((1, 1, 2, 3))):
            states.append(self.state(op, {state["name"] for state in states}))
        op["states"] = states

    def _attributes(self, op: Op) -> None:
        random = self.random
        single = op["kind"] == "legacy_source" and not op.get("parallelSource")
        if random.random() < 0.08 and not single and op["kind"] != "window_all":
            op["parallelism"] = random.choice((1, 2, 3))
        if random.random() < 0.05 and not single:
            op["maxParallelism"] = random.choice((64, 200))
        if random.random() < 0.08 and op["kind"] not in SINKS and op["kind"] not in SOURCES:
            op["chaining"] = random.choice(("disable", "new_chain"))
        if random.random() < 0.04:
            op["slotSharingGroup"] = "g"
        if random.random() < 0.08:
            op["name"] = f"the {op['kind']}"

    def _timed(self, stream: str) -> bool:
        """Whether all records of a stream have a time."""
        op = self.op(stream)
        if op["kind"] == "assign_timestamps":
            return True
        return bool(op.get("inputs")) and all(self._timed(name) for name in op["inputs"])

    def source(self, kind: str, at: int | None = None) -> str:
        """Some source."""
        fields = {"parallelSource": self.random.random() < 0.4} if kind == "legacy_source" else {}
        return self.add(kind, at=at, **fields)

    def sink(self, stream: str) -> str:
        """Some sink of a stream."""
        kind = self.random.choice(SINKS)
        fields = {"topology": "committer"} if kind == "sink" and self.random.random() < 0.3 else {}
        return self.add(kind, stream, **fields)

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
    if drawing.op(stream)["kind"] in ("process", "keyed_process") and what > 0.9:
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


Edit = Callable[[Drawing], bool]
EDITS: dict[str, Edit] = {}
"""What can be done to a topology, by name; False where there is nothing to do it to."""


def _edit(edit: Edit) -> Edit:
    EDITS[edit.__name__.strip("_").replace("_", " ")] = edit
    return edit


def _operators(drawing: Drawing) -> list[Op]:
    return [op for op in drawing.ops if op["kind"] not in VIRTUAL]


def _some(drawing: Drawing, kinds: tuple[str, ...] | None = None) -> Op | None:
    found = [op for op in _operators(drawing) if kinds is None or op["kind"] in kinds]
    return drawing.random.choice(found) if found else None


def _with_states(drawing: Drawing) -> Op | None:
    found = [op for op in _operators(drawing) if op.get("states")]
    return drawing.random.choice(found) if found else None


def _between(drawing: Drawing, make: Callable[[str, int], str]) -> bool:
    """Put a call behind a stream, before one of its readers or all of them."""
    streams = [op["id"] for op in drawing.ops if op["kind"] not in SINKS and not drawing.keyed(op["id"])]
    streams = [stream for stream in streams if drawing.readers(stream)]
    stream = drawing.random.choice(streams)
    readers = drawing.readers(stream)
    if drawing.random.random() < 0.3:
        readers = readers[:1]
    if any(reader["kind"] in ("side_output",) for reader in readers):
        return False
    at = 1 + drawing.ops.index(drawing.op(stream))
    made = make(stream, at)
    for reader in readers:
        reader["inputs"] = [made if name == stream else name for name in reader["inputs"]]
    return True


@_edit
def nothing(drawing: Drawing) -> bool:
    return True


@_edit
def an_operator_inserted(drawing: Drawing) -> bool:
    return _between(drawing, lambda stream, at: drawing.step(stream, at))


@_edit
def an_operator_inserted_again(drawing: Drawing) -> bool:
    return an_operator_inserted(drawing)


@_edit
def a_keyed_operator_inserted(drawing: Drawing) -> bool:
    def make(stream: str, at: int) -> str:
        return drawing.step(drawing.key_by(stream, at), at + 1)

    return _between(drawing, make)


@_edit
def a_partitioning_inserted(drawing: Drawing) -> bool:
    return _between(drawing, lambda stream, at: drawing.add(drawing.random.choice(PARTITIONINGS[:5]), stream, at=at))


@_edit
def an_operator_removed(drawing: Drawing) -> bool:
    found = [op for op in drawing.ops if len(op.get("inputs", ())) == 1 and op["kind"] not in (*SINKS, "key_by")]
    if not found:
        return False
    gone = drawing.random.choice(found)
    stream = gone["inputs"][0]
    if drawing.keyed(stream):
        key = drawing.op(stream)
        behind = key["inputs"][0]
    else:
        key, behind = None, stream
    for reader in drawing.readers(gone["id"]):
        if reader["kind"] == "side_output":
            return False
        reader["inputs"] = [behind if name == gone["id"] else name for name in reader["inputs"]]
    drawing.ops.remove(gone)
    if key is not None and not drawing.readers(key["id"]):
        drawing.ops.remove(key)
    return True


@_edit
def a_sink_added(drawing: Drawing) -> bool:
    drawing.sink(drawing.random.choice(drawing.plain()))
    return True


@_edit
def a_sink_removed(drawing: Drawing) -> bool:
    found = [op for op in drawing.ops if op["kind"] in SINKS and len(drawing.readers(op["inputs"][0])) > 1]
    if not found:
        return False
    drawing.ops.remove(drawing.random.choice(found))
    return True


@_edit
def a_branch_added(drawing: Drawing) -> bool:
    stream = drawing.random.choice(drawing.plain())
    drawing.add("print", drawing.step(drawing.key_by(stream) if drawing.random.random() < 0.5 else stream))
    return True


@_edit
def a_branch_added_first(drawing: Drawing) -> bool:
    sources = [op for op in drawing.ops if op["kind"] in SOURCES]
    source = drawing.random.choice(sources)
    at = 1 + drawing.ops.index(source)
    made = drawing.add("map", source["id"], at=at)
    drawing.add("print", made, at=at + 1)
    return True


@_edit
def a_source_added(drawing: Drawing) -> bool:
    kinds = {op["kind"] for op in drawing.ops if op["kind"] in SOURCES}
    made = drawing.source(
        "source" if "source" in kinds else drawing.random.choice(SOURCES[:2]), at=drawing.random.choice((0, None))
    )
    drawing.add("print", made)
    return True


@_edit
def a_source_joined(drawing: Drawing) -> bool:
    kinds = {op["kind"] for op in drawing.ops if op["kind"] in SOURCES}
    kind = "source" if "source" in kinds else drawing.random.choice(SOURCES[:2])

    def make(stream: str, at: int) -> str:
        made = drawing.source(kind, at)
        both = (stream, made) if drawing.random.random() < 0.5 else (made, stream)
        return drawing.add("union", *both, at=at + 1)

    return _between(drawing, make)


@_edit
def uids_added(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uid" not in op and "uidHash" not in op]
    for op in found:
        op["uid"] = f"v-{op['id']}"
    return bool(found)


@_edit
def a_uid_added(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uid" not in op and "uidHash" not in op]
    if not found:
        return False
    op = drawing.random.choice(found)
    op["uid"] = f"v-{op['id']}"
    return True


@_edit
def a_uid_removed(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uid" in op]
    if not found:
        return False
    del drawing.random.choice(found)["uid"]
    return True


@_edit
def a_uid_changed(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uid" in op]
    if not found:
        return False
    op = drawing.random.choice(found)
    op["uid"] = f"w-{op['id']}"
    return True


@_edit
def uids_exchanged(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uid" in op]
    if len(found) < 2:
        return False
    one, other = drawing.random.sample(found, 2)
    one["uid"], other["uid"] = other["uid"], one["uid"]
    return True


@_edit
def a_name_changed(drawing: Drawing) -> bool:
    op = _some(drawing)
    assert op is not None
    op["name"] = "another name"
    return True


@_edit
def a_state_added(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if drawing.takes_state(op)]
    if not found:
        return False
    op = drawing.random.choice(found)
    states = op.setdefault("states", [])
    states.append(drawing.state(op, {state["name"] for state in states}))
    return True


@_edit
def a_state_removed(drawing: Drawing) -> bool:
    op = _with_states(drawing)
    if op is None:
        return False
    gone = drawing.random.choice(op["states"])
    if gone["scope"] == "broadcast":
        return False
    op["states"].remove(gone)
    if not op["states"]:
        del op["states"]
    return True


@_edit
def a_state_renamed(drawing: Drawing) -> bool:
    op = _with_states(drawing)
    if op is None:
        return False
    drawing.random.choice(op["states"])["name"] = "renamed"
    return True


@_edit
def a_type_changed(drawing: Drawing) -> bool:
    op = _with_states(drawing)
    if op is None:
        return False
    state = drawing.random.choice(op["states"])
    if state["kind"] == "map":
        key, value = state["type"][4:-1].split(", ")
        if drawing.random.random() < 0.4:
            key = {"String": "Long", "Long": "String"}[key]
        else:
            value = drawing.random.choice([type for type in TYPES if type != value])
        state["type"] = f"Map<{key}, {value}>"
    else:
        state["type"] = drawing.random.choice([type for type in TYPES if type != state["type"]])
    return True


@_edit
def a_kind_changed(drawing: Drawing) -> bool:
    found = [state for op in _operators(drawing) for state in op.get("states", ()) if state["scope"] == "keyed"]
    if not found:
        return False
    state = drawing.random.choice(found)
    kind = drawing.random.choice([kind for kind in KINDS if kind != state["kind"]])
    if kind == "map":
        state["type"] = f"Map<String, {state['type']}>"
    elif state["kind"] == "map":
        state["type"] = state["type"][4:-1].split(", ")[1]
    state["kind"] = kind
    return True


@_edit
def a_scope_changed(drawing: Drawing) -> bool:
    found = [
        state for op in _operators(drawing) for state in op.get("states", ()) if state["scope"] in ("operator", "union")
    ]
    if not found:
        return False
    state = drawing.random.choice(found)
    state["scope"] = {"operator": "union", "union": "operator"}[state["scope"]]
    return True


@_edit
def a_key_changed(drawing: Drawing) -> bool:
    found = [op for op in drawing.ops if op["kind"] == "key_by"]
    if not found:
        return False
    op = drawing.random.choice(found)
    op["keyType"] = {"long": "string", "string": "long"}[op["keyType"]]
    return True


@_edit
def a_kind_of_operator_changed(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if op["kind"] in (*NOT_KEYED, *KEYED)]
    if not found:
        return False
    op = drawing.random.choice(found)
    kinds = KEYED if drawing.keyed(op["inputs"][0]) else NOT_KEYED
    kind = drawing.random.choice([kind for kind in kinds if kind != op["kind"] and kind != "window"])
    op["kind"] = kind
    for field in ("window", "function"):
        op.pop(field, None)
    if not drawing.takes_state(op):
        op.pop("states", None)
    return True


@_edit
def a_kind_of_sink_changed(drawing: Drawing) -> bool:
    op = _some(drawing, SINKS)
    if op is None:
        return False
    op["kind"] = drawing.random.choice([kind for kind in SINKS if kind != op["kind"]])
    if op["kind"] != "legacy_sink":
        op.pop("states", None)
    op.pop("topology", None)
    return True


@_edit
def a_kind_of_source_changed(drawing: Drawing) -> bool:
    op = _some(drawing, SOURCES[:2])
    if op is None:
        return False
    op["kind"] = {"legacy_source": "source_unbounded", "source_unbounded": "legacy_source"}[op["kind"]]
    op.pop("parallelSource", None)
    op.pop("states", None)
    return True


@_edit
def a_window_changed(drawing: Drawing) -> bool:
    op = _some(drawing, ("window",))
    if op is None:
        return False
    windows = [window for window in WINDOWS[:4] if window != op["window"]]
    op["window"] = drawing.random.choice(windows)
    if op["window"] == "session_processing_time" and op["function"] == "aggregate":
        op["function"] = "reduce"
    return True


@_edit
def a_windows_function_changed(drawing: Drawing) -> bool:
    op = _some(drawing, ("window",))
    if op is None:
        return False
    functions = ["reduce", "process", "sum"] + ["aggregate"] * (op["window"] != "session_processing_time")
    op["function"] = drawing.random.choice([function for function in functions if function != op["function"]])
    return True


@_edit
def inputs_exchanged(drawing: Drawing) -> bool:
    found = [op for op in drawing.ops if len(op.get("inputs", ())) == 2 and "broadcast" not in op["kind"]]
    if not found:
        return False
    drawing.random.choice(found)["inputs"].reverse()
    return True


@_edit
def calls_in_another_order(drawing: Drawing) -> bool:
    """The same graph, whose calls come in another order of the program."""
    left = list(drawing.ops)
    made: list[Op] = []
    while left:
        ready = [op for op in left if all(any(name == one["id"] for one in made) for name in op.get("inputs", ()))]
        op = drawing.random.choice(ready)
        left.remove(op)
        made.append(op)
    drawing.topology["ops"] = made
    return True


@_edit
def the_parallelism_changed(drawing: Drawing) -> bool:
    drawing.topology["env"]["parallelism"] = drawing.random.choice((1, 2, 3))
    return True


@_edit
def an_operators_parallelism_changed(drawing: Drawing) -> bool:
    op = _some(drawing)
    if op is None or (op["kind"] == "legacy_source" and not op.get("parallelSource")):
        return False
    op["parallelism"] = drawing.random.choice((1, 2, 3))
    return True


@_edit
def the_max_parallelism_changed(drawing: Drawing) -> bool:
    drawing.topology["env"]["maxParallelism"] = drawing.random.choice((64, 128, 200))
    return True


@_edit
def an_operators_max_parallelism_changed(drawing: Drawing) -> bool:
    op = _some(drawing)
    if op is None or (op["kind"] == "legacy_source" and not op.get("parallelSource")):
        return False
    op["maxParallelism"] = drawing.random.choice((64, 128, 200))
    return True


@_edit
def chaining_changed(drawing: Drawing) -> bool:
    op = _some(drawing, (*NOT_KEYED, *KEYED))
    if op is None:
        return False
    op["chaining"] = drawing.random.choice(("disable", "new_chain"))
    return True


@_edit
def chaining_of_all_changed(drawing: Drawing) -> bool:
    env = drawing.topology["env"]
    env["chaining"] = not env.get("chaining", True)
    return True


@_edit
def a_slot_sharing_group_changed(drawing: Drawing) -> bool:
    op = _some(drawing)
    assert op is not None
    op["slotSharingGroup"] = "h"
    return True


@_edit
def the_backend_changed(drawing: Drawing) -> bool:
    drawing.topology["env"].setdefault("config", {})["state.backend.type"] = "rocksdb"
    return True


def versions(seed: int, count: int = 4) -> tuple[Topology, tuple[Version, ...]]:
    """A topology, and next versions of it."""
    random = Random(seed)
    old = draw(random)
    made: list[Version] = []
    for _ in range(count):
        drawing = Drawing(random, copy.deepcopy(old.topology), old.named)
        drawing._next = 100 + drawing._next
        edits: list[str] = []
        for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
            name = random.choice(list(EDITS))
            if EDITS[name](drawing):
                edits.append(name)
        made.append(Version(tuple(edits), drawing.topology, allow=random.random() < 0.15))
    return old.topology, tuple(made)
