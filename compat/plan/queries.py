"""Operators created by queries: in SQL jobs, and in Java by the Table API."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from compat.plan.facts import Program
from compat.state.model.operators import Operator

_DESCRIBED = re.compile(r"(?P<number>\[\d+\]:)?(?P<kind>[A-Z]\w*)\((?P<rest>.*)\)", re.DOTALL)


def of_query(operator: Operator) -> bool:
    """True for an operator created by a query."""
    numbered = not operator.detail.get("unnamed")
    return operator.exec_node is not None or description(operator, numbered=numbered) is not None


def has_queries(program: Program) -> bool:
    """True for a job that consists of queries, or contains some."""
    return program.language == "sql" or any(map(of_query, program.operators))


_PUSHED = re.compile(r", (?:filter|project|watermark|limit|metadata)=.*", re.DOTALL)
_KEYS = ("table", "groupBy", "partitionBy", "key", "where", "leftKeys", "uniqueKey")


class Description(Struct, frozen=True):
    """Flink's description of an operator: ``[6]:GroupAggregate(groupBy=[k], …)``, in its parts."""

    kind: str
    rest: str

    @property
    def keyed(self) -> frozenset[str]:
        """Its keys: the table, the GROUP BY, the PARTITION BY, or what a join joins on."""
        return frozenset(_PUSHED.sub("", one).rstrip("]") for one in items(self.rest) if one.partition("=")[0] in _KEYS)


def items(text: str) -> Iterator[str]:
    """The items between top-level commas."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def description(operator: Operator, *, numbered: bool = True) -> Description | None:
    """Flink's description of a query's operator; None for others. Names that are not ``numbered`` may belong to any
    operator.
    """
    match = _DESCRIBED.fullmatch(operator.description or "")
    if match is None or (numbered and match["number"] is None):
        return None
    return Description(match["kind"], match["rest"])
