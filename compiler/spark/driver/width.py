"""Whether an epoch is spread over tasks or runs in one: what Spark does for a task may cost more than what there is to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

FEW = 1000
"""Up to so many records may be little to do."""
QUICK = 1.0
"""Seconds within which an epoch with little to do ends."""
_UNNOTICED = 0.25
"""An epoch in one task may take so many seconds whatever others took."""
_LONGER = 1.5
"""So many times as long as the last one that was spread it may take, too: what else a machine does makes them differ."""
_CALM = 20
"""So many epochs are spread after one that took longer in one task."""


@dataclass(slots=True)
class Width:
    """How the next epoch runs, by those before: in one task (``narrow``) while they have little to do.

    ``spread`` are the seconds of the last one that was spread over tasks; ``calm`` epochs are still to be.
    """

    narrow: bool = False
    spread: float = math.inf
    calm: int = 0

    def done(self, records: int, seconds: float) -> None:
        """The tasks of an epoch read so many records, and took so many seconds."""
        if not self.narrow:
            self.spread, self.calm = seconds, max(self.calm - 1, 0)
        elif seconds > max(_UNNOTICED, _LONGER * self.spread):
            self.calm = _CALM
        self.narrow = records <= FEW and self.spread <= QUICK and not self.calm
