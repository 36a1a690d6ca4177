"""The errors of a store."""

from __future__ import annotations


class StoreError(Exception):
    """A store that cannot be read or written: a directory that is missing, full, or not a snapshot table.

    Nothing is lost by it: what was committed stays, what was not is done again after a restart.
    """
