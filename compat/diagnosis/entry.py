"""An entry of the catalogue: one exception that Flink throws during a restore."""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct


class Proof(Enum):
    """The evidence, besides the text, for calling an exception a failed restore."""

    TEXT = "text"
    """None needed: Flink says this only at a restore."""
    NOT_ELSEWHERE = "not elsewhere"
    """A stack trace, if there is one, has to begin in Flink's state code: other code throws the same."""
    RESTORE = "restore"
    """An outer exception or the stack trace has to show that state was restored or read: any program throws the same."""


class Entry(Struct, frozen=True, kw_only=True):
    """What an exception means, which rules of the check find its cause, and what to do.

    ``pattern`` is searched in ``Class: message``. Its named groups fill the braces of the texts, with those of the outer
    exceptions and the ``savepoint`` of the log. ``title`` is the part of the text that people search for. ``now`` says
    what to do, and ``command`` is the command for it; ``before`` is the command that would have found it before the
    deployment.
    ``versions`` says where the text differs between versions of Flink. ``example`` is what Flink throws.
    """

    name: str
    title: str
    pattern: re.Pattern[str]
    happened: str
    rules: tuple[str, ...]
    now: str
    example: str
    command: str = "compat check {savepoint} NEW"
    before: str = "compat check {savepoint} NEW"
    proof: Proof = Proof.TEXT
    versions: str = ""
