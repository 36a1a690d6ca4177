"""Kinds, names and times to live of states."""

from __future__ import annotations

import json

from tests.compat.pairs.model import BROKEN, OK, ROW_AB, ROW_ABC, UNKNOWN, Topology, pair, under
from tests.compat.pairs.programs import aggregating, counting, first, firsts, list_, map_, reducing, value

KINDS = [
    pair("kind_value_same", counting(), counting(), OK),
    pair("kind_value_to_list", value("L"), first(list_("L")), OK, "CMP403"),
    pair("kind_list_to_value", list_("L"), value("L"), BROKEN, "CMP403"),
    pair("kind_value_to_list_of_another_type", value("L"), list_("S", "str(value)"), BROKEN, "CMP403", "CMP404"),
    pair("kind_value_to_map", value("L"), map_("L", "L"), BROKEN, "CMP403"),
    pair("kind_map_to_value", map_("L", "L"), value("L"), BROKEN, "CMP403"),
    pair("kind_value_to_reducing", counting(), reducing("L"), OK, "CMP403"),
    pair("kind_reducing_to_value", reducing("L"), counting(), OK, "CMP403"),
    pair("kind_aggregating_to_reducing", aggregating("L"), reducing("L"), OK, "CMP403"),
    pair("kind_list_to_reducing", list_("L"), reducing("L"), BROKEN, "CMP403"),
    pair("list_same", list_("L"), list_("L"), OK),
    pair("list_element_retyped", list_("L"), list_("S", "str(value)"), BROKEN, "CMP404"),
    pair(
        "list_of_tuples_cut",
        firsts(list_("Types.TUPLE([L, L])", "(value, 0)")),
        firsts(list_("Types.TUPLE([L])", "(value,)")),
        BROKEN,
        "CMP404",
    ),
    pair("map_same", map_("L", "L"), map_("L", "L"), OK),
    pair("map_value_retyped", map_("L", "L"), map_("L", "S", "value % 2, str(value)"), BROKEN, "CMP404"),
    pair("map_key_retyped", map_("L", "L"), map_("S", "L", "str(value % 2), value"), BROKEN, "CMP404"),
    pair(
        "map_of_rows_cut",
        firsts(map_("L", ROW_ABC[0], f"value % 2, {ROW_ABC[1]}")),
        firsts(map_("L", ROW_AB[0], f"value % 2, {ROW_AB[1]}")),
        BROKEN,
        "CMP404",
    ),
    pair(
        "reducing_function_changed", reducing("L"), reducing("L", function="lambda a, b: max(a, b) + 1"), OK, "CMP421"
    ),
    pair("reducing_retyped", reducing("L"), reducing("I"), BROKEN, "CMP404"),
]

_TWO_STATES = value("L").replace(
    "self.s = ", 'self.t = ctx.get_state(ValueStateDescriptor("t", Types.STRING()))\n        self.s = '
)

NAMES = [
    pair("state_renamed", value("L", state="s"), value("L", state="t"), BROKEN, "CMP402"),
    pair("state_replaced_by_another_type", value("L", state="s"), value("S", "str(value)", state="t"), OK, "CMP401"),
    pair("state_added", value("L"), _TWO_STATES, OK),
    pair("state_removed", _TWO_STATES, value("L"), OK, "CMP401"),
    pair("two_states_kept", _TWO_STATES, _TWO_STATES, OK),
    pair("class_renamed", value("L"), value("L", name="Remember"), OK),
]

_OTHER_FLINK = "PyFlink 1.20 was not at hand"

TTL = [
    pair("ttl_on", value("L"), value("L", ttl="10"), OK),
    pair("ttl_off", value("L", ttl="10"), value("L"), OK),
    pair("ttl_longer", value("L", ttl="10"), value("L", ttl="20"), OK),
    pair("ttl_same", value("L", ttl="20"), value("L", ttl="20"), OK, unrecorded="nothing changes"),
    pair(
        "ttl_shorter",
        value("L", ttl="20"),
        value("L", ttl="10"),
        OK,
        "CMP417",
        unrecorded="it takes hours to show; ttl_longer is recorded, and a test restores such a state in Java",
    ),
    pair("ttl_on_list", list_("L"), list_("L", ttl="10"), OK),
    pair("ttl_on_map", map_("L", "L"), map_("L", "L", ttl="10"), OK),
    pair("ttl_off_map", map_("L", "L", ttl="10"), map_("L", "L"), OK),
    under(
        pair("ttl_on_in_flink_1_20", list_("L"), list_("L", ttl="10"), BROKEN, "CMP408", unrecorded=_OTHER_FLINK),
        flink="1.20",
    ),
    under(
        pair("ttl_off_in_flink_1_20", list_("L", ttl="10"), list_("L"), BROKEN, "CMP408", unrecorded=_OTHER_FLINK),
        flink="1.20",
    ),
    under(
        pair("ttl_longer_in_flink_1_20", list_("L", ttl="5"), list_("L", ttl="10"), OK, unrecorded=_OTHER_FLINK),
        flink="1.20",
    ),
]


def operator_list(scope: str) -> Topology:
    """An operator with a list that is spread over its subtasks in one of the ways of operator state."""
    state = {"name": "items", "kind": "list", "scope": scope, "type": "List<Long>"}
    ops = [
        {"id": "s", "kind": "source", "uid": "s"},
        {"id": "m", "kind": "map", "inputs": ["s"], "uid": "m", "states": [state]},
    ]
    return Topology(json.dumps({"ops": ops}, indent=1))


_NO_OPERATOR_STATE = "PyFlink's functions have no operator state but broadcast state"

REDISTRIBUTION = [
    pair(
        "list_to_union_list",
        operator_list("operator"),
        operator_list("union"),
        BROKEN,
        "CMP409",
        unrecorded=_NO_OPERATOR_STATE,
    ),
    pair("union_list_same", operator_list("union"), operator_list("union"), OK, unrecorded=_NO_OPERATOR_STATE),
]

_OPEN_FAILS = "open() fails in Flink as well; what is asked is whether the check takes it for an answer"


def opening(path: str) -> str:
    """A counter whose open() reads a file first."""
    return value("L").replace("descriptor = Value", f'open("{path}").close()\n        descriptor = Value')


def holding(kept: str, attribute: str = "n", given: str = "n") -> str:
    """A pickled state of objects of a class of the program."""
    made = f"class {kept}:\n    def __init__(self, n):\n        self.{attribute} = {given}\n\n"
    made += f"    def __repr__(self):\n        return str(self.{attribute})"
    return value("Types.PICKLED_BYTE_ARRAY()", f"{kept}(value)").replace(
        "\nclass Keep(", f"\n{made}\n\n\nclass Keep(", 1
    )


OBJECTS = [
    pair("pickled_class_same", holding("Account"), holding("Account"), OK),
    pair(
        "pickled_class_changed",
        holding("Account"),
        holding("Account", "number"),
        BROKEN,
        "CMP430",
        unrecorded="objects that come out of a pickle without an attribute fail where it is read",
    ),
    # What a constructor calls may set anything.
    pair(
        "pickled_class_changed_by_a_call",
        holding("Account"),
        holding("Account", "number", "int(n)"),
        UNKNOWN,
        "CMP431",
        unrecorded="objects that come out of a pickle without an attribute fail where it is read",
    ),
    pair("pickled_class_renamed", holding("Account"), holding("Customer"), BROKEN, "CMP430"),
]
DISCOVERY = [
    pair(
        "states_that_open_does_not_tell",
        value("L"),
        opening("/no/such/file"),
        UNKNOWN,
        "CMP410",
        unrecorded=_OPEN_FAILS,
    ),
    pair("states_behind_a_file_that_is_there", value("L"), opening("/dev/null"), OK),
]
