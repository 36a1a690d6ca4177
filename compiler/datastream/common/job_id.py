"""The id of a submitted job. Flink: ``JobID``."""

from __future__ import annotations

import os

__all__ = ["JobID"]


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
