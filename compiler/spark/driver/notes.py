"""Reports the settings of a job that have no effect on Spark."""

from __future__ import annotations

from compat.compiler.configuration import BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED, CHECKPOINT_INTERVAL
from compat.compiler.job import Job
from compat.compiler.spark.driver.options import Listener


class Notes:
    """Tells ``listener`` about the jobs of one program; the same note is told only once for all of them."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._told: set[str] = set()

    def tell(self, job: Job, job_id: str | None) -> None:
        """Tell which settings of a job have no effect; the job has an id once it has begun."""
        for text in _without_effect(job):
            if text not in self._told:
                self._told.add(text)
                self._listener({"event": "note", "job_id": job_id, "text": text})


def _without_effect(job: Job) -> list[str]:
    """What the program sets, or its options, that changes nothing on Spark: a sentence each."""
    options = [name for name in (BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED) if name in job.settings.options]
    setting = [each for each in job.pipeline if each.buffer_timeout >= 0]
    if not options and not setting:
        return []
    where = ", ".join([*options, *dict.fromkeys(f"{each.name!r} ({each.location})" for each in setting)])
    return [
        f"The buffer timeout ({where}) has no effect on Spark: the records of an epoch are exchanged when a stage of it ends. "
        f"How long a record waits at most follows {CHECKPOINT_INTERVAL}."
    ]
