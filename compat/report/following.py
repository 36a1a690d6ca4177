"""The last lines of a report: the steps to do by hand, and the command to run next, ready to paste."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

from compat.check.findings import Direction, Fix, Report, Verdict
from compat.check.moving import SAVEPOINT
from compat.check.undecided import Undecided
from compat.loader.advice import pip
from compat.loader.failure import Failure, Undecidable
from compat.loader.inputs import is_running
from compat.loader.revisions import revision_of
from compat.report.context import ReportContext, Typed
from compat.report.summary import by_cause

JOB = '"$JOB"'
"""The placeholder for the program of a plan."""

_RESTORE_OPTIONS = ("execution.state-recovery.path", "execution.state-recovery.ignore-unclaimed-state")
"""The options that restore SQL from a snapshot and allow non-restored state: Flink's names since 1.20."""

_OLDER_RESTORE_OPTIONS = ("execution.savepoint.path", "execution.savepoint.ignore-unclaimed-state")
"""The same before 1.20."""


def next_step(report: Report, context: ReportContext, *, alone: bool = True) -> str:
    """The command to run next, as a line of a report; ``alone`` is False for one of several."""
    return f"Next: {start(report, context.typed)[0] if accepted(report, context) else _repair(report, context, alone)}"


def next_step_undecided(outcome: Undecided, context: ReportContext) -> str:
    """The last line of a report on an undecided check: the check with the options that it lacked.

    A command that provides what a program lacks comes before that. If neither helps, it is the command that explains
    the failure; a failed command is never repeated. Reports to the developers must not contain the values of a command.
    """
    if any(failure.rule is Undecidable.INTERNAL_ERROR for failure in outcome.failures):
        return "Next: report this, with the lines above."
    if outcome.new is not None and any(failure.rule is Undecidable.REMOVED_JOB for failure in outcome.failures):
        return f"Next: git log --diff-filter=DR --stat -- {shlex.quote(outcome.new)}"
    for command in (failure.command for failure in outcome.failures if failure.command is not None):
        return f"Next: {command}"
    again = _again(outcome.old, outcome.new, outcome.direction, context)
    return f"Next: {_with_options(again, options_of(outcome.failures)) or _rule(outcome.failures[0].rule)}"


def mending(outcome: Undecided, failure: Failure, context: ReportContext) -> str | None:
    """The command that mends a failure, as a line of a report; None if a person has something to fill in, or to write."""
    if failure.command is None and failure.option is None:
        return None
    command = next_step_undecided(outcome, context).removeprefix("Next: ")
    return None if '"$' in command or command.startswith(_RULE) else f"Run: {command}"


def command_of(fix: Fix, report: Report, context: ReportContext) -> str | None:
    """The command of a fix, as a line of a report; None for a fix that a person has to make."""
    if fix.code is None or '"$' in fix.code:
        return None
    if fix.moves:
        return f"Run: {fix.code}"
    again = _again(report.old.name, report.new.name, report.direction, context)
    command = _with_options(again, [fix.code]) if fix.code.startswith(_OPTIONS) else None
    return None if command is None else f"Run: {command}"


def options_of(failures: Sequence[Failure]) -> list[str]:
    """The options that failures ask for: if OLD and NEW lack the same, one option serves both."""
    options = list(dict.fromkeys(failure.option for failure in failures if failure.option is not None))
    return [option for option in options if option.replace("--old-", "--") not in options or "--old-" not in option]


def accepted(report: Report, context: ReportContext) -> bool:
    """Whether NEW can be started: no finding fails the check."""
    fit = report.verdict.restores
    fit = fit or (report.verdict is Verdict.UNKNOWN and context.allow_unknown)
    return fit and not any(context.fails(finding.level) for finding in report.findings)


def instruction(report: Report, context: ReportContext) -> str:
    """The instruction for the step before the next command; an empty string if there is none."""
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
    if _writes(report, context) and _is_installed("libcst"):
        done = f"--fix writes the edits, --fix --diff only shows them{'; repair the rest by hand' if rest else ''}"
    else:
        done = f"Make the edits{', repair the rest' if rest else ''}, then check again"
    return f"{done}; or {unknown}" if unknown else f"{done}."


def edits(report: Report, context: ReportContext) -> list[Fix]:
    """The calls to add for all findings that fail the check: they belong together, as one alone can make things worse."""
    failing = (finding for finding in report.findings if context.fails(finding.level))
    fixes = [fix for finding in failing for fix in finding.fixes if fix.call is not None]
    return list({(fix.call, fix.at): fix for fix in fixes}.values())


def start(report: Report, typed: Typed | None) -> tuple[str, ...]:
    """The commands that start NEW from OLD's state, one for each place where it runs; with a registry, the registration."""
    typed = typed or Typed()
    if typed.push is not None:
        return (typed.push,)
    checkout, new = _checkout(report.new.name)
    lies_there = report.old.kind in ("savepoint", "snapshot") and not is_running(report.old.name)
    snapshot = shlex.quote(report.old.name) if lies_there else SAVEPOINT
    left_behind = ["-n"] if report.allow_non_restored else []
    started = report.started
    arguments = [shlex.join(started.arguments)] if started.arguments else []
    flink = [*checkout, "flink run -s", snapshot, *left_behind, *(f"-D{one}" for one in typed.definitions)]
    path, ignored = _RESTORE_OPTIONS if _since_1_20(report.new.flink) else _OLDER_RESTORE_OPTIONS
    if report.new.alone:
        return (f"start it as before, with {path}={snapshot} in the configuration that it gives its environment.",)
    if report.new.language == "sql":
        options = [f"{path}={snapshot}", *(f"{ignored}=true" for _ in left_behind), *typed.definitions]
        return (" ".join([*checkout, "sql-client.sh", *(f"-D {one}" for one in options), "-f", new]),)
    if report.new.language == "java":
        chosen = ["-c", shlex.quote(started.main_class)] if started.main_class else []
        return (" ".join([*flink, *chosen, new, *arguments]),)
    if report.new.kind != "program" or report.new.name.endswith(".json"):
        # A plan or a topology file describes the job, but its program is unknown here.
        return (" ".join([*flink, *(["-py"] if report.new.language == "python" else []), JOB]),)
    imports = [shlex.quote(",".join(started.pyfiles))] if started.pyfiles else []
    on_flink = " ".join([*flink, "-py", new, *(f"-pyfs {one}" for one in imports), *arguments])
    given = [*(f"--pyfiles {one}" for one in imports), *(f"--args {shlex.quote(one)}" for one in arguments)]
    on_spark = " ".join(
        [
            *checkout,
            "compat job run",
            new,
            "-s",
            snapshot,
            *left_behind,
            *(f"-D {one}" for one in typed.definitions),
            *given,
        ]
    )
    if report.new.on_spark:
        return (on_spark,)
    return {"snapshot": (on_spark,), "savepoint": (on_flink,)}.get(report.old.kind, (on_flink, on_spark))


def _checkout(name: str) -> tuple[list[str], str]:
    """The command that checks out a file of a revision, and the file's name in commands: Flink cannot start one from a
    revision.
    """
    revision, path = revision_of(name)
    if revision is None:
        return [], shlex.quote(path)
    return [f"git switch --detach {shlex.quote(revision)} &&"], shlex.quote(path)


def _repair(report: Report, context: ReportContext, alone: bool) -> str:
    """The command that repairs NEW or moves state, else the one that explains the worst finding; never one that failed."""
    again = _again(report.old.name, report.new.name, report.direction, context)
    if _writes(report, context):
        return f"{again} --fix" if _is_installed("libcst") else f"{pip()} install libcst"
    failing = [finding for finding in by_cause(report) if context.fails(finding.level)]
    codes = [fix.code for finding in failing for fix in finding.fixes if fix.code is not None]
    settled = _with_options(again, list(dict.fromkeys(code for code in codes if code.startswith(_OPTIONS))))
    moved = move(report, context) if alone and report.old.kind in ("savepoint", "snapshot") else None
    return settled or moved or (_rule(failing[0].rule) if failing else "compat rules")


def move(report: Report, context: ReportContext) -> str | None:
    """The command that moves OLD's state; the one that writes the recipe for that comes first."""
    typed = context.typed or Typed()
    failing = (finding for finding in report.findings if context.fails(finding.level))
    command = next((fix.code for finding in failing for fix in finding.fixes if fix.moves), None)
    if command is None or typed.recipe is None or typed.recipe_written:
        return None if typed.recipe is None else command
    again = _again(report.old.name, report.new.name, report.direction, context)
    return f"{again} --write-recipe {typed.recipe}"


def others(report: Report, context: ReportContext) -> tuple[str, ...]:
    """Alternatives to the next command: starting NEW elsewhere, or moving state."""
    if accepted(report, context):
        return start(report, context.typed)[1:]
    moved = move(report, context)
    return () if moved is None or next_step(report, context).endswith(moved) else (moved,)


_OPTIONS = ("--names ", "--classpath ", "--connector ", "--flink ", "--rehearse", "-D parallelism.default=")
"""Prefixes of fix codes that are options of the check."""


_RULE = "compat rule "
_TIME = re.compile(r" --timeout[ =]\S+")


def _with_options(command: str, options: Sequence[str]) -> str | None:
    """A command with additional options; None if it has them all already."""
    more = [option for option in options if option not in command]
    if any(option.startswith("--timeout ") for option in more):
        command = _TIME.sub("", command)
    return " ".join([command, *more]) if more else None


def _rule(rule: str) -> str:
    return f"{_RULE}{rule}"


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
    """Whether ``--fix`` writes all edits: the command line allows it, libcst is there, and each edit is a safe call."""
    typed = context.typed
    wanted = edits(report, context)
    return (
        typed is not None
        and typed.fixable
        and not typed.fixed
        and report.direction == "forward"
        and bool(wanted)
        and all(fix.safe for fix in wanted)
    )


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None
