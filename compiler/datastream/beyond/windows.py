"""What windowed streams have beyond those of PyFlink."""

from __future__ import annotations

from typing import Any, Self

from compat.compiler.datastream.beyond.noting import beyond
from compat.compiler.datastream.window import Evictor


class Evicting:
    """Evictors."""

    _evictor: Evictor[Any] | None

    @beyond
    def evictor(self, evictor: Evictor[Any]) -> Self:
        """Set the evictor: it takes records out of a window before or after it fires, as in Flink's Java API."""
        self._evictor = evictor
        return self
