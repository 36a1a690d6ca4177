"""The expiry of a state's values. Flink: ``TtlState`` and its factory."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from compat.state.time import milliseconds_of
from compat.state.ttl import StateTtlConfig


class Expiry(Struct, frozen=True):
    """A lifetime in milliseconds, the clock, and what a :class:`StateTtlConfig` says about reading."""

    lifetime: int
    now: Callable[[], int]
    renewed_by_reading: bool
    shows_expired: bool

    @classmethod
    def of(cls, config: StateTtlConfig | None, clock: Callable[[], int]) -> Expiry | None:
        """The expiry of a configuration; None for values that never expire."""
        if config is None:
            return None
        return cls(
            milliseconds_of(config.get_ttl()),
            clock,
            config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite,
            config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp,
        )

    def expired(self, timestamp: int) -> bool:
        """True if a value last used at that time has expired."""
        return timestamp + self.lifetime <= self.now()
