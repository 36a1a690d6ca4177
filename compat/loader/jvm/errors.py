"""The error that keeps a job from being built before any of its code runs."""

from __future__ import annotations


class JvmError(Exception):
    """Flink, Java or a part of them is not there: the message says what, ``hint`` what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
