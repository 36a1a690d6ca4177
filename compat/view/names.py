"""Shortens long names of files to the room there is: their ends tell them apart."""

from __future__ import annotations

LONGEST = 44


def shortened(name: str, longest: int = LONGEST) -> str:
    """A path longer than ``longest`` without its beginning, cut at a separator if there is one.

    >>> shortened("pipelines/customers/orders/job.py:12", 20)
    '…/orders/job.py:12'
    """
    if len(name) <= longest:
        return name
    end = name[len(name) - longest + 1 :]
    _, slash, rest = end.partition("/")
    return f"…{slash}{rest}" if slash else f"…{end}"
