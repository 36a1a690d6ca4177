"""Keys that the same selector takes of records, whose parts the functions before it compute in another way."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator
from tests.compat.builders import operator, program, value_state

PARTS = ("user", "shop")


def keyed(source: str, sources: tuple[str, ...] = PARTS, digest: str = "code") -> Operator:
    selector = UserCode(name="by", digest=digest, source=source, sources=sources)
    return operator("keep", uid="keep", states=(value_state("n"),), inputs=("before",), key_selectors=(selector,))


@pytest.mark.parametrize(
    ("new", "feeding", "level"),
    [
        (keyed("user"), "map", None),
        (keyed("shop", PARTS[::-1]), "map", Level.ERROR),
        (keyed("user", PARTS[::-1], "other code"), "map", None),  # it takes the same from where it is now
        (keyed("lower(user)", ("lower(user)", "shop")), "map", Level.UNKNOWN),
        (keyed("lower(user)", ("lower(user)", "shop")), "flat_map", None),  # other functions: nothing can be compared
        (keyed("", ()), "map", None),
        (keyed("", (), "other code"), "map", Level.ERROR),
        (keyed("", ("", "shop")), "map", None),
    ],
)
def test_what_a_key_is_computed_of(new: Operator, feeding: str, level: Level | None) -> None:
    before, now = (operator("before", id="before", kind=kind, states=()) for kind in ("map", feeding))
    result = check(program("old", before, keyed("user", (*PARTS, ""))), program("new", now, new))
    (found,) = [one.level for one in result.findings if one.rule == "CMP419"] or [None]
    assert found is level
