"""A submitted StreamGraph as a job: its graphs, and its operators' states."""

from __future__ import annotations

from msgspec.structs import replace

from compat.compiler.configuration import PARALLELISM
from compat.loader.jvm.bridge import Java, flink, java, text_or_none
from compat.loader.jvm.call_sites import Places
from compat.loader.jvm.graphs import Configured, configured, edges, graph_settings, job_graph, nodes, vertices
from compat.loader.jvm.harness import Bounds
from compat.loader.jvm.messages import DeclaredStates, Job, Request
from compat.loader.jvm.restore import Built
from compat.loader.jvm.states import Snapshot, empty_savepoint, snapshots
from compat.loader.jvm.upstream import Upstream

NO_HARNESS = "Flink's test harness is not on the class path"


class NoStreamGraph(Exception):
    """A pipeline that is not a streaming job, such as one of the DataSet API."""


def build_job(pipeline: Java, request: Request, loader: Java, places: Places) -> tuple[Job, Built]:
    """The job of a pipeline, with the data for a restore into it.

    Raises NoStreamGraph, and what Flink raises of a job that it refuses.
    """
    if not isinstance(pipeline, flink("streaming.api.graph.StreamGraph")):
        raise NoStreamGraph(str(pipeline.getClass().getName()))
    graph = job_graph(pipeline, loader)
    operators = list(configured(graph, loader))
    if request.harness:
        bounds = Bounds(loader=loader, timeout=request.open_timeout)
        found = snapshots(operators, Upstream(pipeline, loader), bounds, call_open=request.call_open)
        operators = [replace(one, unconnected=found[one.node].unconnected) for one in operators]
    else:
        found = {one.node: Snapshot(states=DeclaredStates(unknown=NO_HARNESS)) for one in operators}
    built = Built(
        operators=operators,
        found=found,
        loader=loader,
        ids=_ids(pipeline, operators),
        flink=request.flink,
        timeout=request.open_timeout,
    )
    job = Job(
        name=str(pipeline.getJobName()),
        flink=request.flink,
        nodes=nodes(pipeline, operators, places, {node: one.states for node, one in found.items()}, loader),
        edges=edges(pipeline),
        vertices=vertices(graph),
        graph=graph_settings(pipeline),
        options=_options(pipeline),
        savepoint=empty_savepoint(operators, found) if request.harness else b"",
        samples=tuple(sample for one in found.values() for sample in one.samples),
        parallelism_given=places.parallelism_given or PARALLELISM in request.options,
        alone=places.alone,
    )
    return job, built


def _ids(pipeline: Java, operators: list[Configured]) -> dict[int, tuple[str, ...]]:
    """The ids under which each operator looks for state: the hash that the user set, then the generated one."""
    found: dict[int, tuple[str, ...]] = {}
    for one in operators:
        user_hash = text_or_none(pipeline.getStreamNode(java("java.lang.Integer")(one.node)).getUserHash())
        generated = str(one.config.getOperatorID())
        found[one.node] = (generated,) if user_hash is None else (user_hash, generated)
    return found


def _options(pipeline: Java) -> dict[str, str]:
    """The options of the job as text."""
    if not hasattr(pipeline, "getJobConfiguration"):
        return {}
    return {str(key): str(value) for key, value in pipeline.getJobConfiguration().toMap().items()}
