"""A layer of a plan as a picture: one self-contained SVG, light or dark as the reader prefers."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from compat.escaping import visible
from compat.plan.drawing import Box, Drawing, columns, drawing
from compat.state.model.job import Plan

_WIDEST = 40
_CHARACTER, _LINE, _PADDING = 7.2, 16, 10
_BETWEEN_COLUMNS, _BETWEEN_ROWS, _MARGIN = 120, 24, 20
_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
  .name { font-weight: 600; } .small { fill: #59636e; } .label { font-size: 10px; fill: #59636e; text-anchor: middle; }
  rect { fill: #f6f8fa; stroke: #59636e; } path.flow { fill: none; stroke: #59636e; } marker path { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .small, .label { fill: #9198a1; } rect { fill: #151b23; stroke: #9198a1; }
    path.flow { stroke: #9198a1; } marker path { fill: #9198a1; }
  }
"""


def svg(plan: Plan, layer: str) -> str:
    """The layer ``stream``, ``job`` or ``execution`` of a plan, sources to the left."""
    graph = drawing(plan, layer)
    frames = _frames(graph)
    width = max((x + w for x, _, w, _ in frames.values()), default=0) + _MARGIN
    height = max((y + h for _, y, _, h in frames.values()), default=0) + _MARGIN
    title = escape(f"{visible(plan.job_name)}: {layer} graph")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        *(line for arrow in graph.arrows for line in _arrow(frames[arrow.source], frames[arrow.target], arrow.label)),
        *(line for box in graph.boxes for line in _box(box, frames[box.id])),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


Frame = tuple[float, float, float, float]
"""Left, top, width and height of a box."""


def _frames(graph: Drawing) -> dict[str, Frame]:
    boxes = {box.id: box for box in graph.boxes}
    sizes = {id: _size(box) for id, box in boxes.items()}
    placed = columns(graph)
    heights = [sum(sizes[id][1] for id in column) + _BETWEEN_ROWS * (len(column) - 1) for column in placed]
    tallest = max(heights, default=0)
    frames: dict[str, Frame] = {}
    left = float(_MARGIN)
    for column, height in zip(placed, heights, strict=True):
        widest = max(sizes[id][0] for id in column)
        top = _MARGIN + (tallest - height) / 2
        for id in column:
            frames[id] = (left, top, widest, sizes[id][1])
            top += sizes[id][1] + _BETWEEN_ROWS
        left += widest + _BETWEEN_COLUMNS
    return frames


def _size(box: Box) -> tuple[float, float]:
    longest = max(len(_short(line)) for line in box.lines)
    return longest * _CHARACTER + 2 * _PADDING, len(box.lines) * _LINE + 2 * _PADDING


def _box(box: Box, frame: Frame) -> Iterator[str]:
    left, top, width, height = frame
    yield f"<g><title>{escape(visible(box.lines[0]))}</title>"
    yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>'
    for row, line in enumerate(box.lines):
        kind = "small" if row else "name"
        y = top + _PADDING + _LINE * row + 12
        yield f'<text class="{kind}" x="{left + _PADDING:.1f}" y="{y:.1f}">{escape(_short(line))}</text>'
    yield "</g>"


def _arrow(source: Frame, target: Frame, label: str) -> Iterator[str]:
    x1, y1 = source[0] + source[2], source[1] + source[3] / 2
    x2, y2 = target[0], target[1] + target[3] / 2
    bend = max(abs(x2 - x1) / 2, 40)
    yield (
        f'<path class="flow" marker-end="url(#head)" d="M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} '
        f'{x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"/>'
    )
    yield f'<text class="label" x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2 - 4:.1f}">{escape(visible(label))}</text>'


def _short(line: str) -> str:
    shown = visible(line)
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"
