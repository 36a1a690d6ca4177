"""Long names keep their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.check.findings import Verdict
from compat.view.names import shortened
from compat.view.page_values import check_section
from tests.compat.builders import program, report
from tests.compat.report.cases import CONTEXT


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("job.py:7", "job.py:7"),
        ("pipelines/customers/orders/job.py:12", "…/orders/job.py:12"),
        ("git:refs/heads/feature:next/orders_job.py:120", "…/orders_job.py:120"),
        ("x" * 30, "…" + "x" * 19),
    ],
)
def test_shortened(name, shown):
    assert shortened(name, 20) == shown


@given(st.text(), st.integers(2, 60))
def test_never_longer_and_the_same_at_the_end(name, longest):
    found = shortened(name, longest)
    assert len(found) <= longest
    assert found == name or name.endswith(found.removeprefix("…"))


def test_the_headline_has_short_names_and_tells_the_long_ones():
    long = "a/very/long/way/to/the/place/where/the/program/is/job.py"
    found = check_section(report(Verdict.COMPATIBLE, old=program(long), new=program("new.py")), CONTEXT)
    assert "…/to/the/place/where/the/program/is/job.py" in found["sentence"]
    assert long not in found["sentence"]
    assert long in found["told"]
