"""What is said of types that thread mode declares to Java as pickles: it pickles rows and tuples, but not lists."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level, Verdict
from compat.state.model.contents import Reading, Shape, Step
from tests.compat.builders import operator, program, value_state

ROW, TUPLE, LIST, LONG = "Row(a: Long)", "Java Tuple1<Long>", "List<Long>", "Long"
IN_WORDS = "compares nothing"
BYTES = "the program gets bytes"
REFUSED = "fails at the first access"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [(ROW, TUPLE, IN_WORDS), (ROW, LIST, BYTES), (LIST, TUPLE, BYTES), (ROW, LONG, REFUSED)],
)
def test_rows_and_tuples_come_back_as_they_were(old, new, told):
    """In real restores the program gets an old row where it declares a tuple, and bytes where it declares a list."""
    settings = {"python.execution-mode": "thread"}
    one, other = (
        program(
            file, operator("a", uid="a", states=(value_state(type=type),), detail={"python": "X"}), settings=settings
        )
        for file, type in (("old.py", old), ("new.py", new))
    )
    (finding,) = (found for found in check(one, other).findings if found.rule == "CMP404")
    assert told in finding.consequence
    assert (finding.level is Level.ERROR) == (told != IN_WORDS)
    assert finding.silent == (told != REFUSED)


@pytest.mark.parametrize(("mode", "verdict"), [("thread", Verdict.UNKNOWN), ("process", Verdict.INCOMPATIBLE)])
def test_old_rows_are_read_as_what_they_were_put_in(mode, verdict):
    """A tuple has no ``value['a']``, whatever type is declared now."""
    put = (Shape(kind="tuple", parts=((), ())),)
    reads = (Reading(steps=(Step(kind="key", name="a"), Step(kind="there"))),)
    details = ({"python": "X", "shapes_put": {"count": put}}, {"python": "X", "shapes_read": {"count": reads}})
    one, other = (
        program(
            f"{type}.py",
            operator("a", uid="a", states=(value_state(type=type),), detail=detail),
            settings={"python.execution-mode": mode},
        )
        for type, detail in zip((TUPLE, ROW), details, strict=True)
    )
    report = check(one, other)
    assert report.verdict is verdict
    assert ("CMP431" in {found.rule for found in report.findings}) is (verdict is Verdict.UNKNOWN)
