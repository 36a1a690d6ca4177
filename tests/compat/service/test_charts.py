"""Charts and words of the pages."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compat.service.pages import contents, running
from compat.service.pages.charts import HEIGHT, LEFT, TOP, WIDTH, bars, line_chart
from compat.service.pages.rendering import count, duration, short_path, size, when
from compat.state.delta.history import Epoch


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 KB"), (250_000, "250 KB"), (3_400_000_000, "3.4 GB")],
)
def test_sizes(value, text):
    assert size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (90_061, "1 d 1 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_words():
    assert count(1234567.4) == "1\u202f234\u202f567"
    assert when(0) == "1970-01-01 00:00:00"
    assert short_path("/data/flink/sp-1") == "flink/sp-1"


def test_a_chart_needs_two_points():
    assert line_chart("x", [], str) is None
    assert line_chart("x", [(1, 1)], str) is None


@example([0.0, 5e-324])
@given(st.lists(st.floats(0, 1e15), min_size=2, max_size=30))
def test_a_chart_stays_in_its_frame(values):
    chart = line_chart("x", list(enumerate(values)), str)
    assert chart is not None
    assert all(LEFT <= x <= WIDTH and TOP <= y <= HEIGHT for x, y, _ in chart.dots)
    assert [x for x, _, _ in chart.dots] == sorted(x for x, _, _ in chart.dots)


@given(st.lists(st.tuples(st.text(), st.floats(0, 1e12), st.text())))
def test_the_longest_bar_is_full(amounts):
    found = bars(amounts, str)
    assert all(0 <= bar.length <= 100 for bar in found)
    assert not any(amount for _, amount, _ in amounts) or max(bar.length for bar in found) == 100


def epoch(number, **more):
    facts = {
        "version": number,
        "time": number * 2000,
        "records": 10,
        "written": 5,
        "size": 5 * number,
        "watermark": None,
    }
    return Epoch(number=number, **{**facts, **more})


def test_epochs_in_words():
    told = running.describe([epoch(1), epoch(2, records=500, watermark=1000), epoch(3, records=None)])
    assert [row.number for row in told.epochs] == [3, 2, 1]
    assert [row.rate for row in told.epochs] == ["–", "250", "–"]
    assert [row.lag for row in told.epochs] == ["–", "3 s", "–"]
    assert [chart.title for chart in told.charts] == ["State on disk", "Time between epochs"]
    assert told.total == 3


def test_no_epochs():
    assert running.describe([]) == running.History()


def test_the_name_of_watermarks_is_that_of_the_runtime():
    checkpoints = pytest.importorskip("compat.compiler.spark.driver.checkpoints")
    assert checkpoints.WATERMARK == running.WATERMARK


@pytest.mark.parametrize(
    "strange", [{}, {"operators": [1, {}]}, {"operators": [{"totals": 3, "subtasks": [None, {}]}]}, {"plan": 7}]
)
def test_strange_inspections_do_no_harm(strange):
    assert all(each.bytes == 0 for each in contents.operators(strange))
    assert contents.facts(strange) == []
