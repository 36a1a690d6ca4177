"""Reading topology files: one program a file, or one a line."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from compat.compiler.driver import Compilation, compile_job
from compat.compiler.errors import Location, ProgramError
from compat.compiler.topology.build import build_job, transformation_ids
from compat.compiler.topology.parse import MAX_OPERATORS
from compat.loader.request import Request
from compat.plan.encode import Encoding, encode
from compat.state.model.job import Plan, Refused

_ENTRY_ID = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.)*")|\n')


def load_topology(request: Request, show_path: Callable[[str], str]) -> Plan | Refused:
    """The plan of a topology file, or of its refusal."""
    encoding = Encoding(call_open=request.call_open, show_path=show_path)
    try:
        with open(request.path, encoding="utf-8") as file:
            text = file.read()
        spec = json.loads(text)
    except UnicodeDecodeError as error:
        return refusal(ProgramError(f"The file is not UTF-8 text: {error}."), request.flink, encoding)
    except RecursionError:
        return refusal(ProgramError("The JSON is nested too deeply for a topology."), request.flink, encoding)
    except ValueError as error:
        return refusal(ProgramError(f"The file is not JSON: {error}."), request.flink, encoding)
    locations = {} if _is_too_large(spec) else entry_locations(text, request.path)
    return plan_of(spec, request.flink, request.options, encoding, locations)


def _is_too_large(spec: Any) -> bool:
    """True for a topology that is going to be refused for its size: its lines need not be counted."""
    ops = spec.get("ops") if isinstance(spec, dict) else None
    return isinstance(ops, list) and len(ops) > MAX_OPERATORS


def plan_of(
    spec: Any,
    flink: str,
    options: Mapping[str, str],
    encoding: Encoding | None = None,
    locations: Mapping[str, Location] | None = None,
) -> Plan | Refused:
    """The plan of one topology (or of an object that holds one in its field ``spec``), or of its refusal."""
    if isinstance(spec, dict) and isinstance(spec.get("spec"), dict):
        spec = spec["spec"]
    if not isinstance(spec, dict):
        return refusal(ProgramError("A topology is a JSON object with a field 'ops'."), flink, encoding)
    try:
        job = build_job(spec, flink=flink, locations=locations, defaults=options)
    except ProgramError as error:
        return refusal(error, flink, encoding)
    compilation = compile_job(job)
    plan = encode(compilation, encoding)
    if compilation.stream_graph is not None:
        plan = replace(plan, transformations=transformation_ids(spec, flink=flink))
        if spec.get("plan"):
            from compat.compiler.streamgraph.json_plan import stream_plan

            plan = replace(plan, stream_plan=stream_plan(compilation.stream_graph))
    return replace(plan, **_summary(compilation)) if spec.get("detail") == "hashes" else plan


def plans_of_lines(path: str, flink: str, options: Mapping[str, str]) -> Iterator[Plan | Refused]:
    """The plan of each line of a file of topologies (``.jsonl``, ``.jsonl.gz``), in order, refusals among them."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                spec = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield refusal(ProgramError(f"Line {number} is not JSON: {error}."), flink, None)
                continue
            yield plan_of(spec, flink, options)


def refusal(error: ProgramError, flink: str, encoding: Encoding | None) -> Plan | Refused:
    """A plan that holds nothing but why there is none."""
    return replace(encode(Compilation(None, error=error), encoding), flink=flink)


def entry_locations(text: str, path: str) -> dict[str, Location]:
    """The line of each entry of a topology, by its id."""
    locations: dict[str, Location] = {}
    line, column, seen = 1, 0, 0
    for match in _ENTRY_ID.finditer(text):
        if match.group(1) is None:
            line, column = line + 1, 0
        else:
            column += len(text[seen : match.end()].encode("utf-8", "surrogatepass"))
            locations.setdefault(json.loads(match.group(1)), Location(path, line, (line, column)))
        seen = match.end()
    return locations


def _summary(compilation: Compilation) -> dict[str, Any]:
    """The counts that stand for the graphs of a very large topology."""
    graph, job_graph = compilation.stream_graph, compilation.job_graph
    summary: dict[str, Any] = {"nodes": 0 if graph is None else len(graph.nodes)}
    if job_graph is not None:
        vertices = job_graph.vertices
        summary["vertices"] = len(vertices)
        summary["vertex_ids"] = tuple(vertex.id for vertex in vertices)
        summary["vertex_operators"] = tuple(len(vertex.operators) for vertex in vertices)
        summary["vertex_inputs"] = tuple(len(vertex.inputs) for vertex in vertices)
    return summary
