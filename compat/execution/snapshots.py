"""The check that comes before a restore, and the plans that snapshots carry."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compat.execution.failures import Refused

if TYPE_CHECKING:
    from compat.check.findings import Report
    from compat.compiler.driver import Compilation
    from compat.compiler.spark.driver.options import Check
    from compat.sides import Savepoint


class Plans(Struct, frozen=True):
    """The plan of a job as Spark runs it, as JSON gives it, and as ``compat registry push`` sends it to a registry."""

    as_run: dict[str, Any]
    registered: bytes


def plans_of(program: str) -> Callable[[Compilation], Plans]:
    """A function that gives the plans of a compiled job of ``program`` (as the user named it)."""
    from compat.loader.lines import carrying_from
    from compat.plan.as_run import as_run
    from compat.plan.encode import Encoding, encode
    from compat.plan.writing import encoded, plain

    own, here = os.path.abspath(program), os.getcwd() + os.sep

    def show(path: str) -> str:
        return program if path == own else path.removeprefix(here)

    def plans(compilation: Compilation) -> Plans:
        plan = carrying_from(encode(compilation, Encoding(show_path=show)), {})
        return Plans(plain(as_run(plan)), encoded(plan))

    return plans


def plan_of(program: str) -> Callable[[Compilation], dict[str, Any]]:
    """A function that gives the plan of a compiled job of ``program``, as Spark runs it, as JSON."""
    plans = plans_of(program)
    return lambda compilation: plans(compilation).as_run


def report_of(
    program: str, snapshot: str, old: Mapping[str, Any] | None, new: Mapping[str, Any], allow_non_restored: bool
) -> Report:
    """The check of a program's plan against that of a snapshot, None for one of Flink's. Raises Refused."""
    from compat.comparison import Comparison, decide
    from compat.loader.inputs import InputError
    from compat.plan.reading import PlanError, from_plain

    sources = {program: _lines(program)}
    comparison = Comparison(old=snapshot, new=program, allow_non_restored=allow_non_restored)
    try:
        return decide(_of_flink(snapshot) if old is None else from_plain(old), from_plain(new), comparison, sources)
    except (InputError, PlanError) as error:
        raise Refused(f"{snapshot}: {error}") from error


def checker(
    program: str, note: Callable[[str], None], allow_unknown: bool = True, *, again: str | None = None
) -> Check:
    """A function that raises Refused, with the whole report, where ``program`` cannot restore a snapshot.

    ``note`` gets the report if the verdict is unknown and unknown is allowed. ``again`` is the command that repeats the check,
    if ``compat check`` cannot.
    """

    def check(snapshot: str, old: Mapping[str, Any] | None, new: Mapping[str, Any], allow_non_restored: bool) -> None:
        from compat.check.findings import Verdict
        from compat.report import ReportContext, render
        from compat.report.context import Typed

        report = report_of(program, snapshot, old, new, allow_non_restored)
        if report.verdict.restores:
            return
        typed = None if again is None else Typed(check=again)
        text = render("text", [report], ReportContext(typed=typed)).rstrip()
        if report.verdict is Verdict.UNKNOWN:
            if not allow_unknown:
                raise Refused(f"Whether {program} restores the state of {snapshot} cannot be told.", text)
            note(text)
            return
        count = sum(finding.level.value == "error" for finding in report.findings)
        raise Refused(f"{program} cannot restore {snapshot}: {count} error{'s' * (count != 1)}, above.", text)

    return check


def _of_flink(path: str) -> Savepoint:
    """A savepoint of Flink's as the OLD side of a check. Raises InputError."""
    from compat.loader.inputs import Input, InputKind
    from compat.savepoint.load import read_old
    from compat.savepoint.names import Names
    from compat.sides import Savepoint

    return Savepoint(read_old(Input(path, path, InputKind.SAVEPOINT), Names()))


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4_000_000).splitlines()
    except OSError:
        return []
