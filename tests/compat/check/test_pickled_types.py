"""What is said of types that thread mode keeps pickled, whichever they are."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from tests.compat.builders import operator, program, value_state

ROW, LIST, LONG = "Row(a: Long)", "List<Long>", "Long"


@pytest.mark.parametrize(
    ("old", "new", "refused"), [(ROW, LIST, False), (LIST, "Java Tuple1<Long>", False), (ROW, LONG, True)]
)
def test_only_what_another_serializer_wrote_is_lost(old, new, refused):
    """Real restores in thread mode give the program the old values, whatever it declares of them."""
    settings = {"python.execution-mode": "thread"}
    one, other = (
        program(
            file, operator("a", uid="a", states=(value_state(type=type),), detail={"python": "X"}), settings=settings
        )
        for file, type in (("old.py", old), ("new.py", new))
    )
    (finding,) = (found for found in check(one, other).findings if found.rule == "CMP404")
    assert ("fails at the first access" in finding.consequence) == refused
    assert (finding.level is Level.ERROR) == refused
    assert finding.silent != refused
