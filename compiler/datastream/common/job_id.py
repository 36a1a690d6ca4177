"""The id of a submitted job. Flink: ``JobID``."""

from __future__ import annotations

import os
import re

__all__ = ["JobID"]

_WRITTEN = re.compile("[0-9a-f]{32}")


class JobID:
    """Sixteen bytes, written as 32 hexadecimal digits; random unless given."""

    def __init__(self, hex_string: str | None = None) -> None:
        self._hex = os.urandom(16).hex() if hex_string is None else hex_string

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash(self._hex)

    def __str__(self) -> str:
        return self._hex


def is_job_id(name: str) -> bool:
    """True for the text of a job id: folders with other names belong to no job."""
    return _WRITTEN.fullmatch(name) is not None
