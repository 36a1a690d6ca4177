"""Errors of the registry."""

from __future__ import annotations


class NotFound(LookupError):
    """Nothing has that name or number; the message says what was wanted."""


class Conflict(RuntimeError):
    """The request does not fit what the registry holds now, for instance because another version runs meanwhile."""


class Expired(Exception):
    """A token that has expired; the message gives its name and the time."""
