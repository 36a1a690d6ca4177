"""Methods of windows and windowed streams that PyFlink lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from compat.compiler.datastream.beyond.noting import beyond

if TYPE_CHECKING:
    from compat.compiler.datastream.window import Evictor
    from compat.compiler.datastream.window.assigners import GlobalWindows


class Evicting:
    """Evictors."""

    _evictor: Evictor[Any] | None

    @beyond
    def evictor(self, evictor: Evictor[Any]) -> Self:
        """Set the evictor: it takes records out of a window before or after it fires, as in Flink's Java API."""
        self._evictor = evictor
        return self


class GlobalWindowsBeyond:
    """Windows that fire when the input ends."""

    @beyond
    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows[Any]:
        """The assigner; without another trigger it fires when the input ends, as in Flink's Java API."""
        from compat.compiler.datastream.window.assigners import GlobalWindows
        from compat.compiler.datastream.window.triggers import EndOfStreamTrigger

        windows: GlobalWindows[Any] = GlobalWindows()
        windows._default_trigger = EndOfStreamTrigger()
        return windows
