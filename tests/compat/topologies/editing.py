"""What becomes of random topologies in their next versions: one function an edit."""

from __future__ import annotations

from collections.abc import Callable

from tests.compat.topologies.drawing import (
    A_YEAR,
    BACKEND,
    CHANGELOG,
    CLOCKS,
    KEYED,
    KINDS,
    NOT_KEYED,
    PARTITIONINGS,
    SETTINGS,
    SINKS,
    SOURCES,
    TIMERS,
    TYPES,
    VIRTUAL,
    WINDOWS,
    WITH_SIDE,
    Drawing,
    Op,
)

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
def uids_passed_on(drawing: Drawing) -> bool:
    """Each operator with a uid takes that of the next one."""
    found = [op for op in _operators(drawing) if "uid" in op]
    if len(found) < 3:
        return False
    uids = [op["uid"] for op in found]
    for op, uid in zip(found, uids[1:] + uids[:1], strict=True):
        op["uid"] = uid
    return True


@_edit
def a_hash_given(drawing: Drawing) -> bool:
    op = _some(drawing)
    assert op is not None
    op["uidHash"] = drawing.hash()
    return True


@_edit
def a_hash_removed(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if "uidHash" in op]
    if not found:
        return False
    del drawing.random.choice(found)["uidHash"]
    return True


@_edit
def ids_given_as_hashes(drawing: Drawing) -> bool:
    """The operators without uid keep the ids that they had, which are written into the program; then one is inserted."""
    ids = drawing.ids()
    found = [op for op in _operators(drawing) if not op.keys() & {"uid", "uidHash"} and op["id"] in ids]
    for op in found:
        op["uidHash"] = ids[op["id"]]
    return bool(found) and an_operator_inserted(drawing)


@_edit
def an_id_given_as_uid(drawing: Drawing) -> bool:
    """A mistake: what is given as a uid is hashed again."""
    ids = drawing.ids()
    found = [op for op in _operators(drawing) if not op.keys() & {"uid", "uidHash"} and op["id"] in ids]
    if not found:
        return False
    op = drawing.random.choice(found)
    op["uid"] = ids[op["id"]]
    return True


@_edit
def timers_changed(drawing: Drawing) -> bool:
    found = [op for op in _operators(drawing) if drawing.takes_timers(op)]
    if not found:
        return False
    op = drawing.random.choice(found)
    if op.pop("about", None) is None:
        op["about"] = {"timers": drawing.random.choice(CLOCKS)}
    return True


@_edit
def a_side_output_added(drawing: Drawing) -> bool:
    op = _some(drawing, WITH_SIDE)
    if op is None:
        return False
    side = drawing.add("side_output", op["id"], tag="side")
    drawing.add("print", drawing.step(drawing.key_by(side) if drawing.random.random() < 0.5 else side))
    return True


@_edit
def a_time_to_live_changed(drawing: Drawing) -> bool:
    found = [state for op in _operators(drawing) for state in op.get("states", ()) if state["scope"] == "keyed"]
    if not found:
        return False
    state = drawing.random.choice(found)
    if state.pop("ttl", None) is None:
        state["ttl"] = A_YEAR
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
    kind = drawing.random.choice([kind for kind in kinds if kind != op["kind"] and not kind.startswith("window")])
    op["kind"] = kind
    for field in ("window", "function"):
        op.pop(field, None)
    if not drawing.takes_state(op):
        op.pop("states", None)
    if not drawing.takes_timers(op):
        op.pop("about", None)
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
    timed = drawing.timed(op["inputs"][0])
    windows = [window for window in WINDOWS[: None if timed else 4] if window != op["window"]]
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
def all_in_slot_sharing_groups(drawing: Drawing) -> bool:
    for op in _operators(drawing):
        op["slotSharingGroup"] = drawing.random.choice("gh")
    return True


@_edit
def a_setting_changed(drawing: Drawing) -> bool:
    key, values = drawing.random.choice(SETTINGS)
    drawing.topology["env"].setdefault("config", {})[key] = drawing.random.choice(values)
    return True


@_edit
def the_backend_changed(drawing: Drawing) -> bool:
    config = drawing.topology["env"].setdefault("config", {})
    config[BACKEND] = "hashmap" if config.get(BACKEND) == "rocksdb" else "rocksdb"
    return True


@_edit
def the_backend_left_to_the_cluster(drawing: Drawing) -> bool:
    return bool(drawing.topology["env"].get("config", {}).pop(BACKEND, None))


@_edit
def the_changelog_switched(drawing: Drawing) -> bool:
    config = drawing.topology["env"].setdefault("config", {})
    config[CHANGELOG] = "false" if config.get(CHANGELOG) == "true" else "true"
    return True


@_edit
def the_place_of_timers_changed(drawing: Drawing) -> bool:
    config = drawing.topology["env"].setdefault("config", {})
    config[TIMERS] = "ROCKSDB" if config.get(TIMERS) == "HEAP" else "HEAP"
    return True
