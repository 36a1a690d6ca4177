"""What a registry cannot give or do."""

from __future__ import annotations


class NotFound(LookupError):
    """There is nothing of that name or number; the message says what was looked for."""


class Conflict(RuntimeError):
    """What was asked does not fit what the registry holds now, for instance as another version runs meanwhile."""
