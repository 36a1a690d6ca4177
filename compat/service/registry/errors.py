"""Errors of the registry."""

from __future__ import annotations


class NotFound(LookupError):
    """There is nothing of that name or number; the message says what was looked for."""


class Conflict(RuntimeError):
    """The request does not fit what the registry holds now, for instance because another version runs meanwhile."""


class Expired(Exception):
    """A token whose end has come; the message says which and since when."""
