"""The errors of a store."""

from __future__ import annotations

import re


class StoreError(Exception):
    """A store that cannot be read or written: a directory that is missing, full, or not a snapshot table.

    Nothing is lost by it: what was committed stays, what was not is done again after a restart.
    """


class DamagedLog(StoreError):
    """A version of a table differs from what was committed."""


class Superseded(StoreError):
    """Another process now leads the job: this one commits nothing more, and has nothing more to do for it."""


_COLOURS = re.compile(r"\x1b\[\d*m|↳")


def in_one_line(error: Exception) -> str:
    """The message of an error, without line ends and colours."""
    return " ".join(_COLOURS.sub(" ", str(error)).split())


_ADVICE = (
    ("No space left", "The disk is full: make room on it"),
    ("quota", "The quota is used up: make room"),
    ("MAP_FULL", "The disk is full: make room on it"),
    ("Read-only file system", "It is mounted read-only: mount it so that it can be written to"),
    ("Permission denied", "This user may not: change that"),
    ("Not a directory", "A part of the path is a file: remove that"),
)


def unwritable(what: str, folder: object, error: Exception, instead: str) -> StoreError:
    """The error for a folder that cannot be written to: its path, the reason, and a remedy; ``instead`` is the alternative."""
    told = in_one_line(error)
    advice = next((text for sign, text in _ADVICE if sign.lower() in told.lower()), "Have it writable")
    return StoreError(f"{what} {folder} cannot be written: {told}. {advice}, or {instead}. Nothing committed is lost.")
