"""The result of a finished job. Flink: ``JobExecutionResult``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.datastream.common.job_id import JobID
from compat.compiler.errors import ProgramError

__all__ = ["DetachedJobExecutionResult", "JobExecutionResult"]


class JobExecutionResult:
    """The id, the running time in milliseconds and the accumulators of a job that has ended."""

    def __init__(self, job_id: JobID, net_runtime: int = 0, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_net_runtime(self) -> int:
        """Milliseconds between the start and the end of the job."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The result of one accumulator, or None."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        return dict(self._accumulators)

    def __str__(self) -> str:
        return f"Job {self._job_id} has finished after {self._net_runtime} ms."


class DetachedJobExecutionResult(JobExecutionResult):
    """The result of a job that was not waited for: only its id. Flink: ``DetachedJobExecutionResult``."""

    def get_net_runtime(self) -> int:
        """Raises ProgramError: it is not known."""
        raise self._refused()

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Raises ProgramError: it is not known."""
        raise self._refused()

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Raises ProgramError: they are not known."""
        raise self._refused()

    @staticmethod
    def _refused() -> ProgramError:
        return ProgramError(
            "Job was submitted in detached mode. Results of job execution, such as accumulators, runtime, etc. are not "
            "available."
        )

    def __str__(self) -> str:
        return f"Job {self._job_id} was submitted in detached mode."
