"""The calls of iterations, which feed records back."""

from __future__ import annotations

from compat.compiler.errors import illegal_argument, unsupported
from compat.compiler.topology.in_making import JobInMaking
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.several_inputs import two_inputs
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import Call


def iterate(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """The head of an iteration."""
    stream = inputs[0]
    head = kinds.Feedback(
        **job.common(
            entry,
            name="Feedback",
            output_type=stream.type,
            parallelism=job.pipeline[stream.id].parallelism,
        ),
        input=stream.id,
        wait=entry.get("maxWait", 0),
    )
    return Stream(job.pipeline.add(head, register=False).id, stream.type)


def co_iterate_process(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """The head of an iteration with feedback of another type, and the function on both."""
    stream = inputs[0]
    parallelism = job.pipeline[stream.id].parallelism
    job.pipeline.new_id()  # iterate() makes a feedback of its own, which withFeedbackType replaces
    head = kinds.CoFeedback(**job.common(entry, name="CoFeedback", parallelism=parallelism))
    job.pipeline.add(head, register=False)
    job.co_iterations[entry.id] = head.id
    return two_inputs(job, entry, [stream, Stream(head.id)], call=Call.CONNECT_PROCESS)


def close_with(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Feed a stream back into the head of its iteration."""
    iteration, feedback = inputs
    head = job.pipeline[job.co_iterations.get(entry.inputs[0], iteration.id)]
    if not isinstance(head, kinds.Feedback | kinds.CoFeedback):
        raise illegal_argument(f"{entry.inputs[0]!r} is no iteration, so nothing can be fed back into it.")
    closing = job.pipeline[feedback.id]
    if closing.parallelism != head.parallelism:
        raise unsupported(
            "Parallelism of the feedback stream must match the parallelism of the original stream. "
            f"Parallelism of original stream: {head.parallelism}; parallelism of feedback stream: "
            f"{closing.parallelism}. Parallelism can be modified using DataStream#setParallelism() method"
        )
    job.pipeline.update(head.id, feedback=(*head.feedback, feedback.id))
    return feedback
