"""The last lines of a report: what is left to do by hand, and the command to run next, which works when it is pasted."""

from __future__ import annotations

import shlex
from functools import cache
from importlib.util import find_spec

from compat.check.findings import Direction, Fix, Report, Verdict
from compat.check.undecided import Undecided
from compat.loader.failure import Undecidable
from compat.report.context import ReportContext, Typed

SAVEPOINT = '"$SAVEPOINT"'
"""Stands for the path of a savepoint that is not known here: a variable of the shell, so that the line can be pasted."""

_RESTORE_OPTIONS = ("execution.state-recovery.path", "execution.state-recovery.ignore-unclaimed-state")
"""What SQL is restored from, and whether state may be left behind: Flink's options since 1.20."""

_OLDER_RESTORE_OPTIONS = ("execution.savepoint.path", "execution.savepoint.ignore-unclaimed-state")
"""The same before 1.20."""


def next_step(report: Report, context: ReportContext) -> str:
    """The command to run next, as a line of a report."""
    return f"Next: {(start(report, context.typed) if accepted(report, context) else (_repeated(report, context),))[0]}"


def next_step_undecided(outcome: Undecided, context: ReportContext) -> str:
    """The last line of a report on a check that failed: the same check again, unless the fault is ours, or a job is gone.

    What is reported to us must not have the values of a command in it.
    """
    if any(failure.rule is Undecidable.INTERNAL_ERROR for failure in outcome.failures):
        return "Next: report this, with the lines above."
    if outcome.new is not None and any(failure.rule is Undecidable.REMOVED_JOB for failure in outcome.failures):
        return f"Next: git log --diff-filter=DR --stat -- {shlex.quote(outcome.new)}"
    return f"Next: {_again(outcome.old, outcome.new, outcome.direction, context)}"


def accepted(report: Report, context: ReportContext) -> bool:
    """Whether NEW can be started: no finding fails the check."""
    fit = report.verdict.restores
    fit = fit or (report.verdict is Verdict.UNKNOWN and context.allow_unknown)
    return fit and not any(context.fails(finding.level) for finding in report.findings)


def instruction(report: Report, context: ReportContext) -> str:
    """What is to be done before the next command; an empty string where nothing is."""
    if accepted(report, context):
        return ""
    unknown = "accept what is not known with --allow-unknown." if report.verdict is Verdict.UNKNOWN else ""
    if not edits(report, context):
        return (
            f"Settle what is listed above, or {unknown}"
            if unknown
            else "Repair what is listed above, then check again."
        )
    failing = [finding for finding in report.findings if context.fails(finding.level)]
    rest = not all(any(fix.call is not None for fix in finding.fixes) for finding in failing)
    if _writes(report, context):
        done = f"--fix writes the edits, --fix --diff only shows them{'; repair the rest by hand' if rest else ''}"
    else:
        done = f"Make the edits{', repair the rest' if rest else ''}, then check again"
    return f"{done}; or {unknown}" if unknown else f"{done}."


def edits(report: Report, context: ReportContext) -> list[Fix]:
    """The calls to add, of all findings that fail the check: they belong together, one alone can make things worse."""
    failing = (finding for finding in report.findings if context.fails(finding.level))
    fixes = [fix for finding in failing for fix in finding.fixes if fix.call is not None]
    return list({(fix.call, fix.at): fix for fix in fixes}.values())


def start(report: Report, typed: Typed | None) -> tuple[str, ...]:
    """The commands that start NEW from OLD's state, one for each place where it runs; with a registry, the registration."""
    typed = typed or Typed()
    if typed.push is not None:
        return (typed.push,)
    new = shlex.quote(report.new.name)
    snapshot = shlex.quote(report.old.name) if report.old.kind in ("savepoint", "snapshot") else SAVEPOINT
    left_behind = ["-n"] if report.allow_non_restored else []
    # In a rollback, the program to start is the OLD of the command line, and the arguments are NEW's.
    forward = report.direction == "forward"
    arguments = [typed.arguments] if forward and typed.arguments else []
    flink = ["flink run -s", snapshot, *left_behind, *(f"-D{one}" for one in typed.definitions)]
    if report.new.language == "sql":
        path, ignored = _RESTORE_OPTIONS if _since_1_20(report.new.flink) else _OLDER_RESTORE_OPTIONS
        options = [f"{path}={snapshot}", *(f"{ignored}=true" for _ in left_behind), *typed.definitions]
        return (" ".join(["sql-client.sh", *(f"-D {one}" for one in options), "-f", new]),)
    if report.new.language == "java":
        chosen = ["-c", shlex.quote(typed.main_class)] if forward and typed.main_class else []
        return (" ".join([*flink, *chosen, new, *arguments]),)
    if report.new.kind != "program" or report.new.name.endswith(".json"):
        # A plan or a topology file tells what is to run; how that is started is not known here.
        return (f"start {report.new.name} from {snapshot}{' with -n' if left_behind else ''}.",)
    on_flink = " ".join([*flink, "-py", new, *arguments])
    given = [f"--args {shlex.quote(one)}" for one in arguments]
    on_spark = " ".join(
        ["compat run", new, "-s", snapshot, *left_behind, *(f"-D {one}" for one in typed.definitions), *given]
    )
    if report.new.on_spark:
        return (on_spark,)
    return {"snapshot": (on_spark,), "savepoint": (on_flink,)}.get(report.old.kind, (on_flink, on_spark))


def _repeated(report: Report, context: ReportContext) -> str:
    command = _again(report.old.name, report.new.name, report.direction, context)
    return f"{command} --fix" if _writes(report, context) else command


def _again(old: str | None, new: str | None, direction: Direction, context: ReportContext) -> str:
    typed = context.typed or Typed()
    if typed.check is not None:
        return typed.check
    sides = [shlex.quote(side) for side in (old, new) if side is not None]
    options = [typed.options] if typed.options else []
    if direction == "rollback":
        sides.reverse()
        options += [] if context.typed is not None else ["--rollback"]
    return " ".join(["compat check", *sides, *options])


def _since_1_20(flink: str) -> bool:
    parts = flink.split(".")[:2]
    return not all(part.isdecimal() for part in parts) or tuple(map(int, parts)) >= (1, 20)


def _writes(report: Report, context: ReportContext) -> bool:
    """Whether ``--fix`` writes all edits: the command line takes it, what it needs is there, and each is a safe call."""
    typed = context.typed
    wanted = edits(report, context)
    return (
        typed is not None
        and typed.fixable
        and report.direction == "forward"
        and bool(wanted)
        and all(fix.safe for fix in wanted)
        and _is_installed("libcst")
    )


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None
