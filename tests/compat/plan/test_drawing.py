"""Layers as pictures: every box and arrow is there once, sources first, nothing of a program breaks out of its text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.loader.topology import plan_of
from compat.plan.drawing import Arrow, Box, Drawing, columns, drawing
from compat.plan.reading import from_plain
from compat.plan.svg import svg
from compat.plan.text import dot, text
from compat.plan.writing import plain
from compat.state.model.job import Plan

SVG = "{http://www.w3.org/2000/svg}"
LAYERS = ("stream", "job", "execution")
OPS = [
    {"id": "a", "kind": "source"},
    {"id": "b", "kind": "map", "inputs": ["a"], "name": 'evil </text><script>"\\', "uid": "u"},
    {"id": "k", "kind": "key_by", "inputs": ["b"]},
    {"id": "c", "kind": "process", "inputs": ["k"], "parallelism": 3},
    {"id": "d", "kind": "sink", "inputs": ["c"]},
]
PLAN = plan_of({"ops": OPS}, "2.3", {})


@pytest.mark.parametrize("layer", LAYERS)
def test_the_svg_has_a_rectangle_for_each_box_and_a_path_for_each_arrow(layer: str) -> None:
    graph = drawing(PLAN, layer)
    root = ElementTree.fromstring(svg(PLAN, layer))

    assert len(root.findall(f".//{SVG}rect")) == len(graph.boxes)
    assert len(root.findall(f".//{SVG}path[@class='flow']")) == len(graph.arrows)
    assert not root.findall(f".//{SVG}script")


@pytest.mark.parametrize("layer", LAYERS)
def test_dot_names_every_box_and_arrow(layer: str) -> None:
    graph, text = drawing(PLAN, layer), dot(PLAN, layer)

    assert all(f'  "{box.id}" [label=' in text for box in graph.boxes)
    assert all(f'  "{arrow.source}" -> "{arrow.target}"' in text for arrow in graph.arrows)


def test_boxes_do_not_overlap() -> None:
    root = ElementTree.fromstring(svg(PLAN, "stream"))
    frames = [
        tuple(float(rect.get(key, "")) for key in ("x", "y", "width", "height")) for rect in root.iter(f"{SVG}rect")
    ]
    for number, (x, y, w, h) in enumerate(frames):
        for left, top, width, height in frames[number + 1 :]:
            assert x + w <= left or left + width <= x or y + h <= top or top + height <= y


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_each_box_is_in_one_column_behind_what_it_reads(pairs: list[tuple[int, int]]) -> None:
    boxes = tuple(Box(str(number), ("box",)) for number in range(8))
    forward = tuple(Arrow(str(a), str(b), "") for a, b in pairs if a < b)
    placed = columns(Drawing(boxes, forward))
    column = {id: number for number, ids in enumerate(placed) for id in ids}

    assert sorted(id for ids in placed for id in ids) == [box.id for box in boxes]
    assert all(column[arrow.source] < column[arrow.target] for arrow in forward)
    with_feedback = columns(Drawing(boxes, tuple(Arrow(str(a), str(b), "") for a, b in pairs)))
    assert sorted(id for ids in with_feedback for id in ids) == [box.id for box in boxes]


WIDE = [
    {"id": "a", "kind": "source", "parallelism": 2},
    {"id": "r", "kind": "rescale", "inputs": ["a"]},
    {"id": "b", "kind": "map", "inputs": ["r"], "parallelism": 32768, "slotSharingGroup": "wide"},
    {"id": "t", "kind": "rescale", "inputs": ["b"]},
    {"id": "c", "kind": "map", "inputs": ["t"], "parallelism": 9},
    {"id": "k", "kind": "key_by", "inputs": ["c"]},
    {"id": "d", "kind": "process", "inputs": ["k"], "parallelism": 5},
    {"id": "f", "kind": "rescale", "inputs": ["d"]},
    {"id": "e", "kind": "process", "inputs": ["f"], "parallelism": 5},
]


def test_the_text_of_the_execution_layer_shows_slots_and_what_feeds_subtasks() -> None:
    shown = text(plan_of({"ops": WIDE}, "2.3", {}), "execution")

    assert "ExecutionGraph: 32789 subtasks, 32770 slots, scheduler Default" in shown
    assert [line.strip() for line in shown.splitlines() if line.lstrip().startswith("in slot")] == [
        "in slots 1-2 of 'default'",
        "in slots 3-32770 of 'wide'",
        "in slots 3-11 of 'wide'",
        "in slots 3-7 of 'wide'",
        "in slots 3-7 of 'wide'",
    ]
    assert [line.split("  ", 6)[-1] for line in shown.splitlines() if line.lstrip().startswith("from")] == [
        "POINTWISE  1-16384 read 1, 16385-32768 read 2",
        "POINTWISE  1 reads 1-3640, 2 reads 3641-7281, 3 reads 7282-10922, 4 reads 10923-14563, … 5 more",
        "ALL_TO_ALL  1-5 read 1-9",
        "POINTWISE  each reads its own",
    ]


def test_the_picture_of_the_execution_layer_shows_them_too() -> None:
    graph = drawing(plan_of({"ops": WIDE}, "2.3", {}), "execution")

    assert [box.lines[2] for box in graph.boxes][:2] == ["slots 1-2 of 'default'", "slots 3-32770 of 'wide'"]
    assert [arrow.label for arrow in graph.arrows][2:] == [
        "all to all, 45: 1-5 read 1-9",
        "pointwise, 5: each reads its own",
    ]


def test_a_plan_that_does_not_tell_its_slots_is_drawn() -> None:
    """Plans of version 0.1.0 do not, and a plan that somebody sends may say anything."""
    data = plain(plan_of({"ops": WIDE}, "2.3", {}))
    for vertex in data["execution_graph"]["vertices"]:
        del vertex["slot_sharing_group"], vertex["first_slot"]
        vertex["parallelism"] = 0
        for edge in vertex["inputs"]:
            edge["distribution_pattern"] = "SIDEWAYS"
    plan = from_plain(data)
    assert isinstance(plan, Plan)

    assert "in slot" not in text(plan, "execution")
    assert [arrow.label for arrow in drawing(plan, "execution").arrows][2:] == ["sideways, 45", "sideways, 5"]
