"""Long names of files, as far as there is room for them: what is at their end tells them apart."""

from __future__ import annotations

LONGEST = 44


def shortened(name: str, longest: int = LONGEST) -> str:
    """A path with its beginning left out where it is longer than ``longest``, from a separator on if there is one.

    >>> shortened("pipelines/customers/orders/job.py:12", 20)
    '…/orders/job.py:12'
    """
    if len(name) <= longest:
        return name
    end = name[len(name) - longest + 1 :]
    _, slash, rest = end.partition("/")
    return f"…{slash}{rest}" if slash else f"…{end}"
