"""The error that keeps a job from being built before any of its code runs."""

from __future__ import annotations


class JvmError(Exception):
    """Flink, Java or a part of them is not there: the message says what, ``hint`` what to do about it.

    ``option`` is the option to add for that, ``command`` the command that makes it be there.
    """

    def __init__(self, message: str, hint: str = "", option: str | None = None, command: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.option = option
        self.command = command
