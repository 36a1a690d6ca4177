"""From a topology to a job: one function a family of calls, as Flink's Java API would build it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import Location, ProgramError
from compat.compiler.gc_policy import collection_paused
from compat.compiler.job import Job
from compat.compiler.topology import ends, iterations, one_input, several_inputs, virtual
from compat.compiler.topology.in_making import JobInMaking
from compat.compiler.topology.parse import Entry, parse_entries, parse_settings
from compat.compiler.topology.streams import Stream, apply_attributes
from compat.compiler.versions import LATEST_FLINK


@collection_paused()
def build_job(
    spec: Mapping[str, Any],
    *,
    flink: str = LATEST_FLINK,
    locations: Mapping[str, Location] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Job:
    """The job that a topology describes.

    ``locations`` gives the place of an entry by its id, ``defaults`` the options that the topology does not set. Raises
    ProgramError, with the entry and the field, for a mistake in the topology, and FlinkError for a job that Flink refuses while
    it is built.
    """
    settings = parse_settings(spec, flink, defaults or {})
    job = _made(parse_entries(spec, locations or {}), settings)
    return Job(name=None, pipeline=job.pipeline, settings=settings)


def transformation_ids(spec: Mapping[str, Any], *, flink: str = LATEST_FLINK) -> dict[str, int]:
    """The id of the transformation that each entry made, by the entry's label."""
    job = _made(parse_entries(spec, {}), parse_settings(spec, flink, {}))
    return {label: stream.id for label, stream in job.streams.items()}


def _made(entries: Iterable[Entry], settings: JobSettings) -> JobInMaking:
    """Make what each entry calls for, and apply its attributes."""
    job = JobInMaking(settings)
    for entry in entries:
        try:
            stream = _CALLS[entry.kind](job, entry, [job.streams[name] for name in entry.inputs])
            apply_attributes(entry, stream, job.pipeline)
            job.streams[entry.id] = stream
        except ProgramError as error:
            error.operator = entry.id
            error.location = error.location or entry.location
            raise
    return job


_CALLS: dict[str, Callable[[JobInMaking, Entry, list[Stream]], Stream]] = {
    **dict.fromkeys(("source", "source_data", "source_unbounded"), ends.source),
    **dict.fromkeys(("legacy_source", "collection"), ends.legacy_source),
    **dict.fromkeys(("map", "flat_map", "filter"), one_input.simple),
    "process": one_input.process,
    "assign_timestamps": one_input.timestamps,
    "async_wait": one_input.async_wait,
    "window_all": one_input.window_all,
    "map_partition": one_input.map_partition,
    **dict.fromkeys(("reduce", "sum"), one_input.rolling),
    "keyed_process": one_input.keyed,
    "window": one_input.window,
    **dict.fromkeys(("connect_map", "connect_flat_map", "connect_process"), several_inputs.connect),
    "connect_keyed_process": several_inputs.connect_keyed_process,
    **dict.fromkeys(("broadcast_connect", "keyed_broadcast_connect"), several_inputs.broadcast_connect),
    "multi_input": several_inputs.multi_input,
    "key_by": virtual.key_by,
    **dict.fromkeys(virtual.PARTITIONERS, virtual.repartition),
    "partition_custom": virtual.partition_custom,
    "union": virtual.union,
    "side_output": virtual.side_output,
    "sink": ends.sink,
    **dict.fromkeys(("legacy_sink", "print"), ends.legacy_sink),
    "iterate": iterations.iterate,
    "co_iterate_process": iterations.co_iterate_process,
    "close_with": iterations.close_with,
}
