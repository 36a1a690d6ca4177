"""Writes settings into a topology file: one more field in an entry, or another value.

JSON is close enough to an expression of Python to be edited as the same kind of concrete syntax tree.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from compat.check.findings import FIELDS
from compat.fix.edits import Refusal, Settings
from compat.fix.rewritten import Lines, Rewritten, refused_all
from compat.state.model.source_line import End


def rewrite(source: bytes, calls: Mapping[End, Settings], environment: Settings) -> Rewritten:
    """The topology with these settings: on the entries whose ``id`` ends at these places, and on the environment."""
    every = [*calls.values(), environment]
    try:
        module = cst.parse_module(source.decode("utf-8"))
        if module.bytes != source:
            return Rewritten(source, refused_all(every, "the file could not be written back with all else unchanged"))
    except (cst.ParserSyntaxError, UnicodeError):
        return Rewritten(source, refused_all(every, "the file could not be read as JSON"))
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions, parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
    elements = {
        (positions[node.value].end.line, positions[node.value].end.column): node
        for node in positions
        if isinstance(node, cst.DictElement)
    }
    lines = Lines(module.code)
    wanted: dict[cst.CSTNode, tuple[cst.DictElement | None, Settings]] = {}
    refused: list[Refusal] = []
    for end, settings in calls.items():
        label = elements.get(lines.character(end))
        if label is None:
            refused += refused_all([settings], "no entry has its id where it was read; did the file change?")
        else:
            wanted[parents[label]] = (label, settings)
    if environment:
        objects = [element.value for element in elements.values() if _key(element) == "env"]
        if len(objects) == 1 and isinstance(objects[0], cst.Dict):
            wanted[objects[0]] = (None, environment)
        else:
            refused += refused_all([environment], "the topology has no env; an option of the cluster may set it")
    writer = _Writer(wanted)
    return Rewritten(module.visit(writer).bytes, (*refused, *writer.refused))


class _Writer(cst.CSTTransformer):
    """Sets fields of objects; a new field goes behind the entry's ``id``."""

    def __init__(self, wanted: Mapping[cst.CSTNode, tuple[cst.DictElement | None, Settings]]) -> None:
        super().__init__()
        self._wanted = wanted
        self.refused: list[Refusal] = []

    def leave_Dict(self, original_node: cst.Dict, updated_node: cst.Dict) -> cst.Dict:  # noqa: N802 - libcst's name
        """The object with its settings."""
        label, settings = self._wanted.get(original_node, (None, {}))
        elements = list(updated_node.elements)
        for method, (value, fix) in settings.items():
            field = FIELDS[method]
            place = next((place for place, element in enumerate(elements) if _key(element) == field), None)
            if place is not None:
                elements[place] = elements[place].with_changes(value=cst.parse_expression(value))
            elif label is not None:
                place = next(place for place, element in enumerate(original_node.elements) if element is label)
                elements[place : place + 1] = _followed_by(elements[place], field, value)
            else:
                self.refused.append(
                    Refusal(fix, f"the topology's env has no {field}; an option of the cluster may set it")
                )
        return updated_node.with_changes(elements=elements)


def _key(element: cst.CSTNode) -> str | None:
    """The name of a field."""
    if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
        return element.key.value[1:-1]
    return None


def _followed_by(element: cst.BaseDictElement, field: str, value: str) -> list[cst.BaseDictElement]:
    """An element and a new one behind it, spaced alike."""
    new = element.with_changes(key=cst.SimpleString(f'"{field}"'), value=cst.parse_expression(value))
    if isinstance(element.comma, cst.Comma):
        return [element, new]
    return [element.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))), new]
