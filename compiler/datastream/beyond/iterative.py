"""Loops, as Flink's Java API had them before 2.0. Flink: ``IterativeStream``, ``ConnectedIterativeStreams``."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._connected import ConnectedStreams
from compat.compiler.datastream._location import here
from compat.compiler.datastream._stream import DataStream
from compat.compiler.errors import unsupported
from compat.compiler.transformations.kinds import CoFeedback, Feedback, Transformation
from compat.compiler.transformations.pipeline import Pipeline

__all__ = ["ConnectedIterativeStreams", "IterativeStream"]


class IterativeStream(DataStream):
    """The head of a loop: the records of a stream, and those that ``close_with`` leads back."""

    __module__ = "pyflink.datastream.data_stream"

    def __init__(self, stream: DataStream, max_wait_ms: int = 0) -> None:
        environment, upstream = stream._environment, stream._transformation
        made = environment.pipeline.add(
            Feedback(
                id=environment.pipeline.new_id(),
                name="Feedback",
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=upstream.parallelism,
                parallelism_configured=True,
                wait=max_wait_ms,
                location=here(),
            ),
            register=False,
        )
        super().__init__(environment, made.id)
        self._origin = stream
        self._max_wait_ms = max_wait_ms

    def close_with(self, feedback: DataStream) -> DataStream:
        """Feed the records of ``feedback``, which must come from this loop, back to its head."""
        _close(self._environment.pipeline, self._transformation, feedback)
        return feedback

    def with_feedback_type(self, feedback_type: Any) -> ConnectedIterativeStreams:
        """A loop whose feedback has another type than its input: both come to the same operators side by side."""
        return ConnectedIterativeStreams(self._origin, _build.output_type_of(feedback_type), self._max_wait_ms)


class ConnectedIterativeStreams(ConnectedStreams):
    """The input of a loop connected with its feedback."""

    __module__ = "pyflink.datastream.data_stream"

    def __init__(self, stream: DataStream, feedback_type: Any, max_wait_ms: int) -> None:
        environment, upstream = stream._environment, stream._transformation
        self._feedback = environment.pipeline.add(
            CoFeedback(
                id=environment.pipeline.new_id(),
                name="CoFeedback",
                output_type=feedback_type,
                parallelism=upstream.parallelism,
                parallelism_configured=True,
                wait=max_wait_ms,
                location=here(),
            ),
            register=False,
        ).id
        super().__init__(stream, DataStream(environment, self._feedback, operator=False))

    def close_with(self, feedback: DataStream) -> DataStream:
        """Feed the records of ``feedback``, which must come from this loop, back to it."""
        pipeline = feedback._environment.pipeline
        _close(pipeline, pipeline[self._feedback], feedback)
        return feedback


def _close(pipeline: Pipeline, head: Transformation, feedback: DataStream) -> None:
    tail = feedback._transformation
    if not _reaches(pipeline, tail.id, head.id):
        raise unsupported(
            "Cannot close an iteration with a feedback DataStream that does not originate from said iteration.",
            location=here(),
        )
    if tail.parallelism != head.parallelism:
        raise unsupported(
            "Parallelism of the feedback stream must match the parallelism of the original stream. "
            f"Parallelism of original stream: {head.parallelism}; parallelism of feedback stream: "
            f"{tail.parallelism}. Parallelism can be modified using DataStream#setParallelism() method",
            location=here(),
        )
    assert isinstance(head, Feedback | CoFeedback)
    pipeline.update(head.id, feedback=(*head.feedback, tail.id))


def _reaches(pipeline: Pipeline, id: int, wanted: int) -> bool:
    """True when ``wanted`` is ``id`` or one of those it reads, directly or not."""
    pending, seen = [id], {id}
    while pending:
        id = pending.pop()
        if id == wanted:
            return True
        for input in pipeline[id].inputs:
            if input not in seen:
                seen.add(input)
                pending.append(input)
    return False
