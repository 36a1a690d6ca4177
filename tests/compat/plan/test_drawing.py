"""Layers as pictures: every box and arrow is there once, sources first, nothing of a program breaks out of its text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.loader.topology import plan_of
from compat.plan.drawing import Arrow, Box, Drawing, columns, drawing
from compat.plan.svg import svg
from compat.plan.text import dot

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
