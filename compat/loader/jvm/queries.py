"""The facts that only operators of queries have: their statement, the node of the compiled plan, their own kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from compat.loader.jvm.messages import Job, Node, SqlStatement
from compat.state.model.job import Settings
from compat.state.model.operators import Detail, Operator
from compat.state.model.source_line import SourceLine

_DESCRIBED = re.compile(r"(?:\[(?P<number>\d+)\]:)?(?P<kind>[A-Z]\w*)[\[(].*", re.DOTALL)
_NAMED = re.compile(r"(?P<kind>[A-Z]\w*)[\[(].*", re.DOTALL)
_SINK_TABLE = re.compile(r"Sink\(table=\[(?P<name>[^\],]*)")
_NAME = r"(?:`[^`]*`|[\w$])+"
_TARGET = re.compile(
    rf"\bINSERT\s+(?:INTO|OVERWRITE)\s+(?:TABLE\s+)?(?P<name>{_NAME}(?:\s*\.\s*{_NAME})*)", re.IGNORECASE
)
_QUOTES = re.compile(r"[`\s]")
_ENDS = ("source", "legacy_source", "sink_writer", "sink_committer", "sink_global_committer", "SinkOperator")
_SINK = "-exec-sink_"
_RUNTIME = "org.apache.flink.table."


def of_queries(job: Job, places: Sequence[SourceLine], operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The operators of a job with what is known of those that queries made; ``places`` are those of the job's statements.

    A program may mix queries with the DataStream API, whose operators are left alone.
    """
    sql = not job.python and bool(job.statements or job.exec_plan)
    nodes = {node.id: node for node in job.nodes}
    exec_nodes = _exec_nodes(job)
    lines = _lines(job, places)
    return tuple(
        structs.replace(
            operator,
            kind=_kind(operator, nodes[operator.node]),
            source=lines.get(operator.node, operator.source),
            detail=_detail(operator),
            exec_node=exec_nodes.get(operator.node),
        )
        if sql or operator.node in exec_nodes or _is_planned(nodes[operator.node])
        else operator
        for operator in operators
    )


def _is_planned(node: Node) -> bool:
    """True for an operator that the planner made: its description has the number of an ExecNode, or its class or function
    is Flink's for queries.
    """
    match = _DESCRIBED.fullmatch(node.description)
    if match is None:
        return False
    function = "" if node.function is None else node.function.name
    return match["number"] is not None or node.operator.startswith(_RUNTIME) or function.startswith(_RUNTIME)


def table_settings(job: Job) -> Settings:
    """The options of the planner, of a job in SQL."""
    if not (job.statements or job.exec_plan):
        return {}
    return {"table_options": {key: value for key, value in sorted(job.options.items()) if key.startswith("table.")}}


def _kind(operator: Operator, node: Node) -> str:
    """Flink's word for the operator in a query. The class that runs it is chosen by the planner, and says less."""
    match = _NAMED.fullmatch(node.name) or _DESCRIBED.fullmatch(node.description)
    return operator.kind if operator.kind in _ENDS or match is None else match["kind"]


def _detail(operator: Operator) -> Detail:
    """The names of operators of queries have numbers that any edit moves, and their functions are Flink's."""
    detail = operator.detail.copy()
    detail["unnamed"] = True
    if str(detail.get("function")).startswith(_RUNTIME):
        detail["function"] = detail["class"] = None
    return detail


def _exec_nodes(job: Job) -> dict[int, str]:
    """The nodes of the compiled plan, as JSON, by the operators that they made.

    With short names, an operator's description begins with the number of its node; otherwise it is the node's description.
    Operators that a connector adds after the last node of a query have no such description: they belong to their sink.
    """
    if job.exec_plan is None:
        return {}
    whole = json.loads(job.exec_plan)
    plan: list[dict[str, Any]] = whole["nodes"]
    by_number = {int(node["id"]): node for node in plan}
    by_description: dict[str, list[dict[str, Any]]] = {}
    for node in plan:
        by_description.setdefault(node.get("description", ""), []).append(node)
    found: dict[int, dict[str, Any]] = {}
    for description, operators in _by_description(job.nodes).items():
        match = _DESCRIBED.fullmatch(description)
        if match is not None and match["number"] is not None:
            alike = [by_number[int(match["number"])]] if int(match["number"]) in by_number else []
        else:
            alike = by_description.get(description, [])
        alike = alike * len(operators) if len(alike) == 1 else alike
        if len(alike) == len(operators):
            found |= {operator.id: node for operator, node in zip(operators, alike, strict=True)}
    made = {operator: int(node["id"]) for operator, node in found.items()}
    for operator, sink in _behind_queries(job, made, whole):
        found[operator] = by_number[sink]
    return {operator: json.dumps(node) for operator, node in found.items()}


def _behind_queries(job: Job, made: Mapping[int, int], plan: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """The operators behind the last that a node made, each with the number of the sink's node, where there is one alone.

    ``made`` gives the numbers of the nodes by the operators that they made.
    """
    targets: dict[int, list[int]] = {}
    for edge in plan.get("edges", ()):
        targets.setdefault(int(edge["source"]), []).append(int(edge["target"]))
    of_sinks = {int(node["id"]) for node in plan["nodes"] if _SINK in node["type"]}
    inputs = {node.id: [edge.source for edge in node.inputs] for node in job.nodes}
    before = {id for node in made for id in _reached([node], lambda id: inputs[id])}
    for node in job.nodes:
        if node.id in before or _is_planned(node):
            continue
        above = _reached([node.id], lambda id: [] if id in made else inputs[id])
        numbers = {made[id] for id in above if id in made}
        ends = _reached(numbers, lambda number: [one for one in targets.get(number, ()) if one not in made.values()])
        if len(sinks := ends & of_sinks) == 1:
            yield node.id, sinks.pop()


def _reached(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> set[int]:
    """All that is reached from some, step by step, with these."""
    seen, waiting = set[int](), list(starts)
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += following(one)
    return seen


def _by_description(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in sorted(nodes, key=lambda one: one.id):
        found.setdefault(node.description, []).append(node)
    return found


def _lines(job: Job, places: Sequence[SourceLine]) -> dict[int, SourceLine]:
    """The line of the first statement that needs an operator, by its node.

    A statement is known by the table that it writes to, one of several into one table by its place.
    """
    inputs = {node.id: tuple(edge.source for edge in node.inputs) for node in job.nodes}
    place_of = dict(zip(job.statements, places, strict=True))
    left = list(job.statements)
    lines: dict[int, SourceLine] = {}
    for node in sorted(job.nodes, key=lambda one: one.id):
        table = _SINK_TABLE.search(node.description)
        statement = None if table is None else _into(table["name"], left)
        if statement is None and len(job.statements) == 1:
            statement = job.statements[0]
        if statement is None or (table is None and len(job.statements) > 1):
            continue
        if len(left) > 1 and statement in left:
            left.remove(statement)
        line = place_of[statement]
        waiting = [node.id]
        while waiting:
            id = waiting.pop()
            if id not in lines:
                lines[id] = line
                waiting += inputs[id]
    return lines


def _into(table: str, statements: list[SqlStatement]) -> SqlStatement | None:
    """The first statement that writes to a table, which is named with its catalog and database."""
    for statement in statements:
        target = _TARGET.search(statement.text)
        if target is not None and f".{table}".endswith("." + _QUOTES.sub("", target["name"])):
            return statement
    return None
