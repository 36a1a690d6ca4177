"""CMP3xx: parallelism and key groups."""

from __future__ import annotations

import json

from tests.compat.pairs.model import BROKEN, OK, Topology, pair
from tests.compat.pairs.programs import value

_MANY = "it would take some hundred Python workers"
_NOT_IN_PYTHON = "in PyFlink no two keyed operators share a chain: a stream cannot be declared to be keyed"


def at(parallelism: int, most: int | None = None) -> str:
    """A counter of this parallelism, and maybe a max parallelism that is set."""
    setting = "" if most is None else f"\nenv.set_max_parallelism({most})"
    return value("L", settings=f"env.set_parallelism({parallelism}){setting}")


def _one(parallelism: int, most: int) -> str:
    """A counter behind an operator of this parallelism and max parallelism."""
    return value("L").replace(
        '.uid("slow")', f'.uid("slow").set_parallelism({parallelism}).set_max_parallelism({most})'
    )


def _chained(parallelism: int, most: int) -> str:
    """A counter where an operator that is chained behind its source has another max parallelism than that."""
    program = at(parallelism)
    return program.replace('.uid("slow")', f'.uid("slow").set_max_parallelism({most})')


def chained(chaining: str, *maximums: int, keyed: str = "ab") -> Topology:
    """Two neighbours with keyed state, as a stream makes them that is declared to be keyed; or with state in one."""
    lines = ['{"id": "s", "kind": "source", "uid": "s"}']
    for name, before, maximum in zip("ab", "sa", maximums or (None, None), strict=True):
        entry = {"id": name, "kind": "map", "inputs": [before], "uid": name, "maxParallelism": maximum}
        states = {"states": [{"name": "n", "kind": "value", "type": "Long"}] if name in keyed else []}
        lines.append(json.dumps(entry | states | ({"chaining": chaining} if name == "b" else {})))
    return Topology('{"ops": [\n' + ",\n".join(lines) + "\n]}")


SCALING = [
    pair("parallelism_raised", value("L"), at(2), OK),
    pair("max_parallelism_set", value("L"), at(1, 64), BROKEN, "CMP301"),
    pair("max_parallelism_as_it_was", value("L"), at(1, 128), OK),
    pair("parallelism_above_max", value("L"), at(129), BROKEN, "CMP302", unrecorded=_MANY),
    pair("parallelism_above_own_max", at(1, 3), at(4, 3), BROKEN, "CMP305"),
    pair("parallelism_at_own_max", at(1, 3), at(3, 3), OK),
    pair("parallelism_above_the_max_of_an_operator", value("L"), _one(4, 3), BROKEN, "CMP305"),
    pair("parallelism_above_the_max_of_a_chained_operator", value("L"), _chained(4, 3), OK),
    pair("parallelism_at_max", value("L"), at(128), OK, "CMP304", unrecorded=_MANY),
    pair("derived_max_parallelism_moves", value("L"), at(86), OK, "CMP304", unrecorded=_MANY),
    pair("derived_max_parallelism_stays", value("L"), at(85), OK, unrecorded=_MANY),
    pair(
        "chain_of_different_key_groups",
        chained("head", 128, 64),
        chained("always"),
        BROKEN,
        "CMP303",
        unrecorded=_NOT_IN_PYTHON,
    ),
    pair(
        "chain_with_another_maximum_of_an_operator_without_state",
        chained("head", 128, 64, keyed="a"),
        chained("always", keyed="a"),
        BROKEN,
        "CMP303",
        unrecorded=_NOT_IN_PYTHON,
    ),
    pair(
        "chain_of_different_maximums_without_state",
        chained("head", 128, 64, keyed=""),
        chained("always", keyed=""),
        OK,
        unrecorded=_NOT_IN_PYTHON,
    ),
    pair("chains_of_different_key_groups", chained("head", 128, 64), chained("head"), OK, unrecorded=_NOT_IN_PYTHON),
]
