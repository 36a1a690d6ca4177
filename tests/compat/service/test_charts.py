"""Charts and words of the pages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compat.compiler.spark.driver import checkpoints
from compat.service.pages import contents, running
from compat.service.pages.charts import (
    HEIGHT,
    LEFT,
    MOST_POINTS,
    TOP,
    WIDTH,
    bars,
    line_chart,
    round_number,
    round_time,
)
from compat.service.pages.rendering import count, duration, person, short_path, size, when
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


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Ada Lovelace <ada@example.org>", "Ada Lovelace"),
        ("ada@example.org", "ada"),
        ("ci", "ci"),
        ("<ada@example.org>", "somebody"),
        ("Ada, for bob@example.org", "Ada, for bob"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("word_count@2", "word_count"),
    ],
)
def test_people_without_their_addresses(told, shown):
    assert person(told) == shown


def test_words():
    assert count(1234567.4) == "1\u202f234\u202f567"
    assert when(0) == "1970-01-01 00:00:00"
    assert short_path("/data/flink/sp-1") == "flink/sp-1"


def test_a_chart_needs_two_points():
    assert line_chart("x", [], str) is None
    assert line_chart("x", [(1, 1)], str) is None


@example([0.0, 5e-324])
@example([1.0] * 40 + [1e9])
@given(st.lists(st.floats(0, 1e15), min_size=2, max_size=300))
def test_a_chart_stays_in_its_frame(values):
    chart = line_chart("x", list(enumerate(values)), str)
    assert chart is not None
    assert all(LEFT <= spot.x <= WIDTH and TOP <= spot.y <= HEIGHT for spot in (*chart.spots, *chart.beyond))
    assert [spot.x for spot in chart.spots] == sorted(spot.x for spot in chart.spots)
    heights = [float(pair.split()[1]) for pair in chart.range.strip("MZ").split("L") if pair]
    assert all(TOP <= y <= HEIGHT for y in heights)


def test_few_points_have_a_dot_each():
    chart = line_chart("x", [(1, 5), (2, 7), (3, 6)], str, lambda x: f"epoch {x:g}")
    assert chart is not None
    assert chart.dotted
    assert [spot.text for spot in chart.spots] == ["epoch 1: 5", "epoch 2: 7", "epoch 3: 6"]
    assert (chart.range, chart.note, chart.beyond) == ("", "", ())
    assert [tick.text for tick in chart.across] == ["epoch 1", "epoch 2", "epoch 3"]


def test_of_many_points_neighbours_are_drawn_as_one_with_their_range():
    points = [(epoch, 100 + epoch % 7) for epoch in range(1, 701)]
    chart = line_chart("x", points, lambda y: f"{y:.0f}", lambda x: f"{x:.0f}")
    assert chart is not None
    assert len(chart.spots) == 117 <= MOST_POINTS
    assert not chart.dotted
    assert chart.range.count("L") == 2 * 117 - 1
    assert chart.spots[0].text == "1 to 6: 104, at least 101, at most 106"
    assert len(chart.across) == 5
    gaps = [after.at - before.at for before, after in pairwise(chart.across)]
    assert max(gaps) - min(gaps) < 5
    assert "700 epochs" in chart.description


def test_a_spike_does_not_flatten_all_others():
    values = [100.0] * 200
    values[70] = 50_000
    chart = line_chart("x", list(enumerate(values)), lambda y: f"{y:.0f}", lambda x: f"{x:.0f}")
    assert chart is not None
    assert chart.up[-1].text == "200"
    assert chart.note == "▲ up to 50000"
    (beyond,) = chart.beyond
    assert "at most 50000" in beyond.text
    assert "at most 50000" in chart.description
    steady = line_chart("x", list(enumerate([100.0, 300.0] * 50)), str)
    assert steady is not None
    assert (steady.note, steady.beyond) == ("", ())


@pytest.mark.parametrize(
    ("seconds", "top"),
    [(0.03, 0.05), (1, 2), (15, 20), (1300, 3600), (5000, 7200), (86_400, 86_400), (100_000, 172_800)],
)
def test_times_end_at_round_ones(seconds, top):
    assert round_time(seconds) == pytest.approx(top)


@given(st.floats(0, 1e9))
def test_a_round_number_is_not_below(value):
    assert round_number(value) >= value
    assert round_time(value) >= value


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
    assert checkpoints.WATERMARK == running.WATERMARK


@pytest.mark.parametrize(
    "strange", [{}, {"operators": [1, {}]}, {"operators": [{"totals": 3, "subtasks": [None, {}]}]}, {"plan": 7}]
)
def test_strange_inspections_do_no_harm(strange):
    assert all(each.bytes == 0 for each in contents.operators(strange))
    assert contents.facts(strange) == []
