"""From two arguments to outcomes: loads both sides side by side, checks job by job, applies ignores and baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compat.check.findings import Direction, Finding, Report
from compat.check.undecided import Undecided
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import Input, InputError, LoadOptions, opened, plans_of, read_plan, request_for
from compat.loader.process import Outcome, finish, start
from compat.loader.request import Loaded
from compat.plan.facts import Program

if TYPE_CHECKING:
    from compat.check.ignores import IgnoredRule

SECOND_HASH_SEED = 4711
_SAVEPOINT = "savepoint"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare and how.

    ``names`` is where the names of a savepoint's operators come from; ``known`` are inputs that are at
    hand already, by argument. In a rollback ``old`` is the later program, and ``new`` the one before it.
    """

    old: str
    new: str
    load: LoadOptions = field(default_factory=LoadOptions)
    old_arguments: tuple[str, ...] = ()
    new_arguments: tuple[str, ...] = ()
    allow_non_restored: bool = False
    job: int | None = None
    names: str | None = None
    direction: Direction = "forward"
    ignored: tuple[IgnoredRule, ...] = ()
    baseline: Path | None = None
    known: Mapping[str, Input] = field(default_factory=dict)

    def reversed(self) -> Comparison:
        """Whether OLD can restore what NEW writes."""
        return replace(
            self,
            old=self.new,
            new=self.old,
            old_arguments=self.new_arguments,
            new_arguments=self.old_arguments,
            direction="rollback",
        )


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One outcome a job, the texts of the programs' files by the names that findings call them, and the plans of OLD and
    NEW behind each report."""

    outcomes: tuple[Report | Undecided, ...]
    sources: Mapping[str, list[str]]
    plans: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()


def compare(comparison: Comparison, meanwhile: Callable[[], object] | None = None) -> Outcomes:
    """Load both sides and check them. What fails is an outcome too.

    ``meanwhile`` is called while the programs run: the place to import what a report needs.
    """
    with ExitStack() as stack:
        inputs: dict[Side, Input] = {}
        failures: list[Failure] = []
        for side, argument, arguments in (
            (Side.OLD, comparison.old, comparison.old_arguments),
            (Side.NEW, comparison.new, comparison.new_arguments),
        ):
            try:
                known = comparison.known.get(argument)
                inputs[side] = known or stack.enter_context(opened(argument, arguments, side))
            except InputError as error:
                failures.append(error.failure)
        if failures:
            return Outcomes((_undecided(comparison, failures),), {})
        plans, again = _load_all(inputs, comparison, failures, meanwhile)
        if failures:
            return Outcomes((_undecided(comparison, failures),), _sources(inputs))
        sources = _sources(inputs)
        try:
            reports = tuple(_reports(plans, again, comparison))
        except InputError as error:
            return Outcomes((_undecided(comparison, [error.failure]),), sources)
        jobs = range(len(reports)) if comparison.job is None else (comparison.job,)
        return Outcomes(
            tuple(_after(report, comparison, sources) for report in reports),
            sources,
            tuple((_graphs(plans[Side.OLD][job]), _graphs(plans[Side.NEW][job])) for job in jobs),
        )


def compare_savepoints(
    paths: Sequence[str], comparison: Comparison, meanwhile: Callable[[], object] | None = None
) -> list[Outcomes]:
    """Check NEW against several savepoints, loading NEW once; ``comparison.old`` is not looked at."""
    from compat.savepoint.load import read_names, read_old

    failures: list[Failure] = []
    with ExitStack() as stack:
        try:
            new = comparison.known.get(comparison.new) or stack.enter_context(
                opened(comparison.new, comparison.new_arguments, Side.NEW)
            )
            plans, again = _load_all({Side.NEW: new}, comparison, failures, meanwhile)
            names = read_names(comparison.names, comparison.load, comparison.job)
        except InputError as error:
            failures.append(error.failure)
        if failures:
            return [Outcomes((_undecided(comparison, failures),), {})]
        sources = _sources({Side.NEW: new})
        outcomes = []
        for path in paths:
            one = replace(comparison, old=path)
            try:
                old = _for_any_job({_SAVEPOINT: read_old(Input(path, path, "savepoint"), names)}, one)
                reports = _reports({Side.OLD: old, **plans}, again, one)
                outcomes.append(Outcomes(tuple(_after(report, one, sources) for report in reports), sources))
            except InputError as error:
                outcomes.append(Outcomes((_undecided(one, [error.failure]),), sources))
        return outcomes


def decide(
    old_plan: dict[str, Any], new_plan: dict[str, Any], comparison: Comparison, sources: Mapping[str, list[str]]
) -> Report:
    """The report on two plans that are loaded already, after what comments in ``sources`` let pass. Raises InputError."""
    return _after(_report(old_plan, new_plan, {}, comparison), comparison, sources)


def _load_all(
    inputs: Mapping[Side, Input],
    comparison: Comparison,
    failures: list[Failure],
    meanwhile: Callable[[], object] | None,
) -> tuple[dict[Side, tuple[dict[str, Any], ...]], dict[Side, tuple[dict[str, Any], ...]]]:
    """The plans of both sides, and those of a second build with another hash seed, of what could differ in it."""
    load = comparison.load
    running = [side for side, given in inputs.items() if given.kind not in ("plan", "savepoint")]
    batch = start([request_for(inputs[side], load) for side in running], timeout=load.timeout) if running else None
    _import_the_check()
    if meanwhile is not None:
        meanwhile()
    first = dict(zip(running, finish(batch), strict=True)) if batch else {}
    again = _build_again({side: inputs[side] for side in first if _may_differ(first[side])}, load)
    plans: dict[Side, tuple[dict[str, Any], ...]] = {}
    for side, given in inputs.items():
        try:
            if given.kind == "savepoint":
                from compat.savepoint.load import read_names, read_old

                names = read_names(comparison.names, load, comparison.job)
                plans[side] = _for_any_job({_SAVEPOINT: read_old(given, names)}, comparison)
            elif side in first:
                plans[side] = plans_of(given, first[side], side)
            else:
                plan = read_plan(given, side)
                plans[side] = _for_any_job(plan, comparison) if running else (plan,)
        except InputError as error:
            failures.append(error.failure)
    return plans, again


def _for_any_job(plan: dict[str, Any], comparison: Comparison) -> tuple[dict[str, Any], ...]:
    """The plan of one job, or a savepoint in its place: it is compared with whichever job of the program the user names."""
    return (plan,) * (1 if comparison.job is None else comparison.job + 1)


def _graphs(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with its graphs; a savepoint has none."""
    return {} if _SAVEPOINT in plan else plan


def _may_differ(outcome: Outcome) -> bool:
    return isinstance(outcome, Loaded) and outcome.crash is None and not outcome.steady


def _build_again(inputs: Mapping[Side, Input], load: LoadOptions) -> dict[Side, tuple[dict[str, Any], ...]]:
    if not inputs:
        return {}
    requests = [request_for(given, load) for given in inputs.values()]
    outcomes = finish(start(requests, timeout=load.timeout, hash_seed=SECOND_HASH_SEED))
    return {side: getattr(outcome, "plans", ()) for side, outcome in zip(inputs, outcomes, strict=True)}


def _import_the_check() -> None:
    """Import what the check needs, while the programs run in their own processes."""
    import compat.check.decision
    import compat.check.ignores
    import compat.plan.decode  # noqa: F401


def _reports(
    plans: Mapping[Side, tuple[dict[str, Any], ...]],
    again: Mapping[Side, tuple[dict[str, Any], ...]],
    comparison: Comparison,
) -> list[Report]:
    olds, news = plans[Side.OLD], plans[Side.NEW]
    if comparison.job is not None:
        for side, jobs, name in ((Side.OLD, olds, comparison.old), (Side.NEW, news, comparison.new)):
            if not 0 <= comparison.job < len(jobs):
                message = f"The program submits {len(jobs)} job(s), counted from 0: there is no job {comparison.job}."
                raise InputError(Failure(rule=Undecidable.NO_JOB, message=message, name=name, side=side))
        places = [comparison.job]
    elif len(olds) == len(news):
        places = list(range(len(olds)))
    else:
        for side, jobs, name in ((Side.OLD, olds, comparison.old), (Side.NEW, news, comparison.new)):
            for job in jobs:
                if _SAVEPOINT not in job:
                    _program(job, name, side)  # a refused job is the better reason
        raise InputError(
            Failure(
                rule=Undecidable.NO_JOB,
                message=f"{comparison.new} submits {len(news)} jobs, and a savepoint is of one."
                if _SAVEPOINT in olds[0]
                else f"{comparison.old} submits {len(olds)} jobs and {comparison.new} {len(news)}.",
                name=comparison.new,
                side=Side.NEW,
                hint="Say which with --job N, counted from 0.",
            )
        )
    return [_report(olds[place], news[place], _rebuilt(again, place), comparison) for place in places]


def _rebuilt(again: Mapping[Side, tuple[dict[str, Any], ...]], place: int) -> dict[str, Program]:
    """The second builds of a job, where they gave one."""
    from compat.plan.decode import decode

    rebuilt = {}
    for side, plans in again.items():
        if place < len(plans) and plans[place].get("error") is None:
            rebuilt[side.value] = decode(plans[place], name=side.value, kind="program")
    return rebuilt


def _report(
    old_plan: dict[str, Any], new_plan: dict[str, Any], rebuilt: Mapping[str, Program], comparison: Comparison
) -> Report:
    from compat.check.context import CheckOptions
    from compat.check.decision import check
    from compat.refusals import refused

    if new_plan.get("error") is not None:
        report = refused(new_plan, comparison.new, _old(old_plan, None, comparison))
        if report is not None:
            return replace(report, direction=comparison.direction)
    new = _program(new_plan, comparison.new, Side.NEW)
    old = _old(old_plan, new, comparison)
    options = CheckOptions(comparison.allow_non_restored, comparison.load.flink, comparison.direction)
    return check(old, new, options, rebuilt)


def _old(plan: dict[str, Any], new: Program | None, comparison: Comparison) -> Program:
    """The facts of OLD; those of a savepoint are in the words of NEW, where there is one."""
    if _SAVEPOINT not in plan:
        return _program(plan, comparison.old, Side.OLD)
    nothing = Program(
        name=comparison.new,
        kind="program",
        job_name="",
        flink=comparison.load.flink,
        operators=(),
        vertices=(),
        settings={},
    )
    old: Program = plan[_SAVEPOINT].program(comparison.old, new or nothing)
    return old


def _program(plan: dict[str, Any], name: str, side: Side) -> Program:
    from compat.plan.decode import PlanError, decode

    error = plan.get("error")
    if isinstance(error, dict):
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=f"Flink refuses the program ({error.get('stage')}): {error.get('message')}",
                name=name,
                side=side,
            )
        )
    try:
        return decode(plan, name=name, kind="program")
    except PlanError as problem:
        raise InputError(
            Failure(rule=Undecidable.PROGRAM_FAILED, message=str(problem), name=name, side=side)
        ) from problem


def _after(report: Report, comparison: Comparison, sources: Mapping[str, list[str]]) -> Report:
    """The report without what the programs' comments, the settings and the baseline let pass."""
    from compat.check import baseline as baselines
    from compat.check.decision import with_findings
    from compat.check.ignores import apply_ignored_rules, apply_ignores

    if report.refused:
        return report
    texts = {name: "\n".join(lines) + "\n" for name, lines in sources.items()}
    kept, ignored, extra = apply_ignores(
        report.findings,
        new={name: text for name, text in texts.items() if name == comparison.new},
        old={name: text for name, text in texts.items() if name == comparison.old},
    )
    kept, by_settings = apply_ignored_rules((*kept, *extra), comparison.ignored)
    known: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    if comparison.baseline is not None:
        kept, known, notes = baselines.apply(kept, baselines.read(comparison.baseline))
    return replace(with_findings(report, kept, (*ignored, *by_settings, *known)), notes=notes)


def _undecided(comparison: Comparison, failures: list[Failure]) -> Undecided:
    return Undecided(failures=tuple(failures), old=comparison.old, new=comparison.new, direction=comparison.direction)


def _sources(inputs: Mapping[Side, Input]) -> dict[str, list[str]]:
    """The lines of the programs' own files."""
    sources = {}
    for given in inputs.values():
        if given.kind == "savepoint":
            continue
        try:
            with open(given.path, encoding="utf-8", errors="replace") as file:
                sources[given.argument] = file.read(4_000_000).splitlines()
        except OSError:
            continue
    return sources
