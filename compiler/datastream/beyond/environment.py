"""Methods of environments that PyFlink lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.beyond.noting import beyond
from compat.compiler.transformations.kinds import Transformation
from compat.compiler.transformations.pipeline import Pipeline

if TYPE_CHECKING:
    from compat.compiler.datastream._stream import DataStream
    from compat.compiler.datastream.beyond.multiple import MultipleConnectedStreams
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment


class EnvironmentBeyond:
    """Listeners, transformations of one's own, and operators of many streams."""

    pipeline: Pipeline
    job_listeners: list[Any]

    @beyond
    def register_job_listener(self, job_listener: Any) -> None:
        """Tell ``job_listener`` of every job: ``on_job_submitted(client, error)`` and ``on_job_executed(result, error)``.

        One of the two arguments is None. A listener whose methods take no error hears only of successes. If jobs are only
        planned, as by ``compat check``, listeners are not called.
        """
        self.job_listeners.append(job_listener)

    @beyond
    def add_operator(self, transformation: Transformation) -> None:
        """Put a transformation of your own among those to translate; ``pipeline.new_id()`` gives its id."""
        self.pipeline.add(transformation)

    @beyond
    def connect_all(self: StreamExecutionEnvironment, *streams: DataStream) -> MultipleConnectedStreams:  # type: ignore[misc]
        """Any number of streams as the inputs of one operator."""
        from compat.compiler.datastream.beyond.multiple import MultipleConnectedStreams

        return MultipleConnectedStreams(self, *streams)
