"""Why there is no plan: what went wrong, and with which program."""

from __future__ import annotations

from enum import Enum

from compat.compiler.record import record
from compat.plan.facts import SourceLine


class Side(Enum):
    """Which of the two programs a failure concerns."""

    OLD = "old"
    NEW = "new"


@record
class Failure:
    """Why a program or snapshot gave no facts to check.

    ``rule`` is its id in the catalogue (``CMP901`` …), ``name`` what the user calls the program. ``side`` is None where
    one program alone was looked at. ``traceback`` is the program's own, cut to its own frames; ``hint`` what to do.
    """

    rule: str
    message: str
    name: str
    side: Side | None = None
    source: SourceLine | None = None
    traceback: str | None = None
    hint: str | None = None
