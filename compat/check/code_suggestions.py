"""The code to write by hand, if an edit changes more than the place of state: rules put it into ``Fix.code``."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from typing import TYPE_CHECKING

from compat.check.findings import Fix, WindowHeir
from compat.state.compatibility import PROCESS, Dialect
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from compat.state.types.composite import ListTypeInfo, MapTypeInfo, RowTypeInfo
from compat.state.types.python import expression_of
from compat.state.types.spelling import parse_type

if TYPE_CHECKING:
    from compat.check.context import Check

NON_RESTORED = "--allowNonRestoredState"
REMAP = "compat remap SAVEPOINT OUT --from-check REPORT"
"""The command that gives all state of known operators the ids that NEW looks for; REPORT is of ``--output json``."""
MIGRATE = "compat migrate SAVEPOINT NEW OUT --recipe FILE"
"""The command that writes a savepoint with its state where NEW looks for it; FILE is of ``--write-recipe``. A check
that knows the arguments fills them in."""
RESTORE = "compat job run NEW -s SNAPSHOT --recipe FILE"
"""The same for a snapshot on Spark: the job moves the state when it starts from the snapshot."""
OLD_PROGRAM = '--names "$OLD_PROGRAM"'
"""The option that names the program which wrote a savepoint."""

_DESCRIPTORS = {
    StateKind.VALUE: "ValueStateDescriptor",
    StateKind.LIST: "ListStateDescriptor",
    StateKind.MAP: "MapStateDescriptor",
    StateKind.REDUCING: "ReducingStateDescriptor",
    StateKind.AGGREGATING: "AggregatingStateDescriptor",
}
_FUNCTIONS = {StateKind.REDUCING: "reduce_function, ", StateKind.AGGREGATING: "aggregate_function, "}
_ASSIGNER = re.compile(r"(?P<name>\w+)\((?P<numbers>\d+(?:, -?\d+)*)?\)")


def migrate(check: Check) -> tuple[Fix, ...]:
    """The alternative fix: OLD's state is rewritten for NEW, or moved as NEW starts from it."""
    moving = check.options.moving
    if moving is None:
        return ()
    told = "compat job run --recipe" if check.old.kind == "snapshot" else "compat migrate"
    return (Fix(text=f"Or move the state: {told}, by a recipe of --write-recipe.", code=moving, moves=True),)


def migrate_ids(check: Check) -> tuple[Fix, ...]:
    """The same if only ids differ: existing savepoints can be remapped, but future ones are not worth it."""
    return migrate(check) if check.old.kind in ("savepoint", "snapshot") else ()


def convert(check: Check, new: State, dialect: Dialect | None) -> tuple[Fix, ...]:
    """The same if values or keys have to be converted: jars define how they are written, and programs do for PyFlink."""
    return migrate(check) if new.serializers is not None or dialect is PROCESS else ()


def text_of(value: str | int) -> str:
    """A value as Python writes it, in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def fresh_uid(operator: Operator, taken: Set[str]) -> str:
    """A uid made from the operator's name that is not in ``taken``."""
    words = "".join(letter.lower() if letter.isalnum() else "-" for letter in operator.name.partition(", ")[0])
    base = "-".join(word for word in words.split("-") if word) or "operator"
    uid, number = base, 1
    while uid in taken:
        number += 1
        uid = f"{base}-{number}"
    return uid


def remap(old: Operator, new: Operator) -> str:
    """The command that gives one operator's state in a savepoint the id of an operator of NEW."""
    return f"compat remap SAVEPOINT OUT --map {old.id}={new.id}"


def descriptor(state: State, name: str | None = None) -> str | None:
    """The descriptor that declares a state, possibly under another name; None if the type is unknown or is Java's."""
    made = _DESCRIPTORS.get(state.kind)
    types = _type_arguments(state)
    if made is None or types is None:
        return None
    return f"{made}({text_of(name or state.name)}, {_FUNCTIONS.get(state.kind, '')}{types})"


def under_another_name(state: State) -> str:
    """The descriptor that declares a state under its own name; only the name if the type is unknown."""
    name = f"{state.name}-2"
    return descriptor(state, name) or text_of(name)


def _type_arguments(state: State) -> str | None:
    found = None if state.type is None else parse_type(state.type)
    if found is None:
        return None
    if isinstance(found, MapTypeInfo) and (state.kind is StateKind.MAP or state.scope is StateScope.BROADCAST):
        parts = [expression_of(found.key_type), expression_of(found.value_type)]
    elif isinstance(found, ListTypeInfo) and state.kind is StateKind.LIST:
        parts = [expression_of(found.element_type)]
    else:
        parts = [expression_of(found)]
    return None if None in parts else ", ".join(map(str, parts))


def key_by(key_type: str) -> str | None:
    """The call that keys by a type; PyFlink keeps a key as a row of one field."""
    found = parse_type(key_type)
    if isinstance(found, RowTypeInfo) and found.field_names == ("f0",):
        found = found.field_types[0]
    made = None if found is None else expression_of(found)
    return None if made is None else f".key_by(key_selector, {made})"


def time_to_live(ttl: int | None) -> str:
    """The call that gives a state's descriptor a time to live in milliseconds, or the one to remove."""
    time = "…" if ttl is None else f"Time.milliseconds({ttl})"
    return f"descriptor.enable_time_to_live(StateTtlConfig.new_builder({time}).build())"


def longer_windows(before: str, after: str) -> WindowHeir | None:
    """The windows of one assigner that contain all windows of another; None if there are none, or not enough is known."""
    was, now = tumbling(before), tumbling(after)
    if was is None or now is None or before.partition("(")[0] != after.partition("(")[0]:
        return None
    fits = 0 < was.size < now.size and now.size % was.size == 0 and (was.offset - now.offset) % was.size == 0
    return now if fits else None


def is_of_flink(assigner: str) -> bool:
    """Whether an assigner is one of Flink's, which tells all of its windows."""
    return _ASSIGNER.fullmatch(assigner) is not None


def tumbling(assigner: str) -> WindowHeir | None:
    """The windows of an assigner of Flink's that lie one behind the other; None for any other one."""
    match = _ASSIGNER.fullmatch(assigner)
    if match is None or not match["name"].startswith("Tumbling"):
        return None
    size, offset = (*map(int, (match["numbers"] or "0").split(", ")), 0)[:2]
    return WindowHeir(size, offset)


def window(assigner: str) -> str | None:
    """The call that creates windows like an assigner did, from its text; None for an assigner of the program."""
    match = _ASSIGNER.fullmatch(assigner)
    if match is None:
        return None
    name, numbers = match["name"], (match["numbers"] or "").split(", ")
    if name.startswith("Count"):
        return f".count_window({', '.join(numbers)})"
    if name == "GlobalWindows":
        return ".window(GlobalWindows.create())"
    times = ", ".join(f"Time.milliseconds({number})" for number in numbers)
    if "Session" in name:
        return f".window({name}.with_gap({times}))"
    return f".window({name}.of({times}))" if name.endswith("TimeWindows") else None
