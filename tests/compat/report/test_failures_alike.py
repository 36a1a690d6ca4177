"""Failures of OLD and NEW with the same words are told once, and what a program said is called that."""

from __future__ import annotations

from compat.check.undecided import Undecided
from compat.loader.failure import SAID, Failure, Side, Undecidable
from compat.report import text
from compat.report.context import ReportContext
from compat.report.summary import alike


def failure(side: Side, message: str, **more: str) -> Failure:
    return Failure(rule=Undecidable.NO_JOB, message=message, name="job.py", side=side, **more)


def test_times_are_no_difference() -> None:
    old, new = (failure(side, f"It says: 08:34:{at},1 no jar") for side, at in ((Side.OLD, 31), (Side.NEW, 32)))
    assert alike([old, new]) == [[old, new]]
    other = failure(Side.NEW, "It says: 08:34:31,1 no topic")
    assert alike([old, other]) == [[old], [other]]


def test_the_output_of_a_program_is_not_called_a_traceback() -> None:
    told = failure(Side.NEW, "The program submits no job.", traceback=f"{SAID}\n  no jar")
    report = text.render([Undecided(failures=(told,), old="job.py", new="job.py")], ReportContext())
    assert "it said:\n    |   no jar" in report
    assert "traceback" not in report
