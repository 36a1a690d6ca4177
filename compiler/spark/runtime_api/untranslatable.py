"""The parts of a savepoint that cannot be taken over."""

from __future__ import annotations


class Untranslatable(Exception):
    """Something in a savepoint of Flink that jobs on Spark cannot go on from; the message names it and says why."""
