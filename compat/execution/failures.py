"""Reasons why a run ends before a job starts."""

from __future__ import annotations

NO_JOB = "The program submits no job: call env.execute()."


class Refused(Exception):
    """Nothing was started. ``detail`` is all there is to say, the message one line of it."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail
