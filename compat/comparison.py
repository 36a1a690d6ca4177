"""From two arguments to outcomes: loads both sides in parallel, checks job by job, applies ignores and baselines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from compat.check.findings import Direction, Finding, Report, Started
from compat.check.moving import Moving
from compat.check.undecided import Unchecked, Undecided
from compat.compiler.versions import standing_for
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import (
    Input,
    InputError,
    InputKind,
    Limit,
    LoadOptions,
    begin_with_pyflink,
    following,
    following_api,
    is_running,
    is_snapshot,
    made_by,
    needs_pyflink,
    notes_of,
    of_version,
    opened,
    read_plan,
    request_for,
)
from compat.loader.jvm.warm import WarmJvms
from compat.loader.process import Outcome, finish, start
from compat.loader.request import Loaded, Loads
from compat.loader.revisions import revision_of
from compat.plan.facts import Program, facts_of
from compat.sides import Job, Jobs, Kept, Old, Savepoint, Snapshot, job_count, job_of, plan_of, rebuilt, said_of
from compat.state.model.job import Plan, Refused
from compat.state.safe_open import open_regular

if TYPE_CHECKING:
    from compat.check.context import Rewritten
    from compat.check.ignores import IgnoredRule
    from compat.deployment.resources import Deployment
    from compat.loader.jvm.answers import Answers
    from compat.loader.jvm.loading import FlinkLoading
    from compat.loader.jvm.messages import Restore
    from compat.savepoint.load import OldSavepoint
    from compat.savepoint.names import Names

SECOND_HASH_SEED = 4711
LARGEST_SOURCE = 4_000_000
_FLINK_TELLS = ("java", "sql", "python")
"""The languages of plans that come from Flink itself or PyFlink, and so carry Flink's version; plans compiled here carry none.
"""


class Comparison(Struct, frozen=True):
    """The inputs to compare, and how.

    ``load`` are the load options of NEW, and of OLD unless ``load_old`` is given. ``names`` is the source of the names
    of a savepoint's operators; ``rehearse`` is how much of its real state is restored, None for none; ``known`` are
    inputs loaded already, by argument, ``read`` savepoints read already, likewise. ``deployment`` and
    ``old_deployment`` say how an upgrade from OLD to NEW is done. In a rollback ``old`` is the later program, and ``new`` the
    one before it. ``own_past`` says that the earlier program is what the file of the other was at a revision.
    ``rewritten`` is that of `CheckOptions`. ``moving`` is the command that moves state, None if it was just moved.
    """

    old: str
    new: str
    load: LoadOptions = field(default_factory=LoadOptions)
    load_old: LoadOptions | None = None
    old_arguments: tuple[str, ...] = ()
    new_arguments: tuple[str, ...] = ()
    allow_non_restored: bool = False
    job: int | None = None
    names: str | None = None
    direction: Direction = "forward"
    ignored: tuple[IgnoredRule, ...] = ()
    baseline: Path | None = None
    rehearse: Limit | None = None
    known: Mapping[str, Input] = field(default_factory=dict)
    read: Mapping[str, OldSavepoint] = field(default_factory=dict)
    deployment: Deployment | None = None
    old_deployment: Deployment | None = None
    own_past: bool = False
    rewritten: Mapping[str, Mapping[str, Rewritten]] = field(default_factory=dict)
    moving: Moving | None = Moving()

    def reversed(self) -> Comparison:
        """The opposite comparison: whether OLD can restore what NEW writes."""
        return replace(
            self,
            old=self.new,
            new=self.old,
            load=self.loading(Side.OLD),
            load_old=None if self.load_old is None else self.load,
            old_arguments=self.new_arguments,
            new_arguments=self.old_arguments,
            direction="rollback",
            deployment=self.old_deployment,
            old_deployment=self.deployment,
        )

    def loading(self, side: Side) -> LoadOptions:
        """The load options of one side's program."""
        return self.load if side is Side.NEW or self.load_old is None else self.load_old


class Outcomes(Struct, frozen=True):
    """One outcome per job, the texts of the programs' files by their names in findings, the plans of OLD and NEW behind
    each report (None for a savepoint), and the files that NEW used while it was built, if that was watched.
    """

    outcomes: tuple[Report | Undecided, ...]
    sources: Mapping[str, list[str]]
    plans: tuple[tuple[Plan | Refused | None, Plan | Refused | None], ...] = ()
    loads: Loads | None = None


def compare(
    comparison: Comparison, meanwhile: Callable[[], object] | None = None, jvms: WarmJvms | None = None
) -> Outcomes:
    """Load both sides and check them. Failures are outcomes too.

    ``meanwhile`` is called while the programs run: the place to import what a report needs. ``jvms`` are for callers that have
    several comparisons.
    """
    with ExitStack() as stack:
        jvms = jvms or stack.enter_context(WarmJvms())
        inputs: dict[Side, Input] = {}
        failures: list[Failure] = []
        refused: dict[Side, InputError] = {}
        for side, argument, arguments in (
            (Side.OLD, comparison.old, comparison.old_arguments),
            (Side.NEW, comparison.new, comparison.new_arguments),
        ):
            try:
                known = comparison.known.get(argument)
                inputs[side] = known or stack.enter_context(opened(argument, arguments, side))
            except InputError as error:
                failures.append(error.failure)
                refused[side] = error
        if failures:
            past = _of_another_name(comparison, refused)
            if isinstance(past, Comparison):
                return compare(past, meanwhile, jvms)
            return Outcomes((past or _undecided(comparison, failures),), {})
        if (unfit := _unfit(inputs, comparison)) is not None:
            return Outcomes((_undecided(comparison, [unfit]),), {})
        comparison = _of_pinned_versions(comparison, inputs)
        sides, answers = _load_all(inputs, comparison, failures, jvms, meanwhile)
        if failures:
            if (other := _of_the_api(comparison, failures)) is not None:
                return compare(other, None, jvms)
            passed_over = _without_job(comparison, inputs, failures)
            return Outcomes((passed_over or _undecided(comparison, failures),), _sources(inputs))
        sources = _sources(inputs)
        old, new = sides[Side.OLD], sides[Side.NEW]
        try:
            jobs = _jobs(old, new, comparison)
            reports = [_report(old, new, job, comparison, answers[0].get(job)) for job in jobs]
        except InputError as error:
            return Outcomes((_undecided(comparison, [error.failure]),), sources)
        return Outcomes(
            tuple(_after(report, comparison, sources) for report in reports),
            sources,
            tuple((plan_of(old, job), plan_of(new, job)) for job in jobs),
            new.loads if isinstance(new, Jobs) else None,
        )


def _of_pinned_versions(comparison: Comparison, inputs: Mapping[Side, Input]) -> Comparison:
    """The comparison with the versions of Flink that the programs' projects pin."""
    for side, given in inputs.items():
        load = following(given, comparison.loading(side))
        if load is not comparison.loading(side):
            comparison = loaded_as(comparison, side, load)
    return comparison


def _of_the_api(comparison: Comparison, failures: Sequence[Failure]) -> Comparison | None:
    """The comparison with the Flink version whose API a failed program uses; None if no program failed for that reason."""
    for failure in failures:
        if failure.side is not None:
            load = following_api(failure, comparison.loading(failure.side))
            if load is not None:
                return loaded_as(comparison, failure.side, load)
    return None


def loaded_as(comparison: Comparison, side: Side, load: LoadOptions) -> Comparison:
    """The comparison with another version of Flink for a side. Nothing indicates that the job changes its version at
    the same time, so the version holds for the other side too, unless that side has its own."""
    of = {one: comparison.loading(one) for one in Side}
    for one, other in of.items():
        if one is side:
            of[one] = load
        elif other.flink_assumed:
            of[one] = replace(other, flink=load.flink, flink_because=load.flink_because)
    return replace(comparison, load=of[Side.NEW], load_old=of[Side.OLD])


def _of_another_name(comparison: Comparison, refused: Mapping[Side, InputError]) -> Comparison | Undecided | None:
    """The check of a file that its revision lacks: the file had another name there, or it is new.

    None if the sides are not the same file at two times: then the name of OLD is wrong.
    """
    side, past, now = _past_and_now(comparison)
    if refused.keys() != {side} or not past.startswith("git:"):
        return None
    from compat.loader.history import is_past_of, reference_of, renamed
    from compat.loader.revisions import NoRevision, NoSuchFile

    if not isinstance(refused[side].__cause__, NoSuchFile) or not is_past_of(past, now):
        return None
    try:
        before = renamed(past)
    except NoRevision:
        return None
    if before is not None:
        found = replace(comparison, own_past=True)
        return replace(found, old=before) if side is Side.OLD else replace(found, new=before)
    return _passed_over(comparison, Unchecked.NEW, now, f"{now} is new: {reference_of(past)} has no such file.")


def _without_job(comparison: Comparison, inputs: Mapping[Side, Input], failures: Sequence[Failure]) -> Undecided | None:
    """The outcome for a file that made no job at the revision, or makes none at all; None if that does not settle the check.

    A program that made no job with these arguments stays undecided: it may make one with others.
    """
    side, past, now = _past_and_now(comparison)
    if not past.startswith("git:") or any(failure.rule is not Undecidable.NO_JOB for failure in failures):
        return None
    from compat.loader.history import is_past_of, reference_of

    if not (comparison.own_past or is_past_of(past, now)):
        return None
    without = {failure.side for failure in failures}
    if side not in without or any(_may_make_one(inputs[one]) for one in without if one is not None):
        return None
    if len(without) == len(Side):
        return _passed_over(
            comparison, Unchecked.NO_JOB, now, f"{now} is a module that others import: it makes no job."
        )
    return _passed_over(comparison, Unchecked.NEW, now, f"{now} is new: at {reference_of(past)} it made no job.")


def _past_and_now(comparison: Comparison) -> tuple[Side, str, str]:
    """The earlier program's side and name, and the later program's name."""
    if comparison.direction == "forward":
        return Side.OLD, comparison.old, comparison.new
    return Side.NEW, comparison.new, comparison.old


def _may_make_one(given: Input) -> bool:
    from compat.loader.scripts import is_program

    with open_regular(given.path) as file:
        return given.kind is not InputKind.PROGRAM or is_program(file.read(LARGEST_SOURCE))


def _passed_over(comparison: Comparison, unchecked: Unchecked, name: str, message: str) -> Undecided:
    return passed_over(unchecked, message, name, comparison.old, comparison.new, comparison.direction)


def passed_over(
    unchecked: Unchecked, message: str, name: str, old: str | None, new: str | None, direction: Direction = "forward"
) -> Undecided:
    """The outcome for files that did not have to be compared, and why."""
    failure = Failure(rule=Undecidable.NOT_CHECKED, message=message, name=name)
    return Undecided(failures=(failure,), old=old, new=new, direction=direction, unchecked=unchecked)


def _unfit(inputs: Mapping[Side, Input], comparison: Comparison) -> Failure | None:
    """Why a savepoint of Flink cannot be NEW: no job can go back to a savepoint."""
    if inputs[Side.NEW].kind is not InputKind.SAVEPOINT:
        return None
    if inputs[Side.OLD].kind is InputKind.SAVEPOINT and comparison.direction == "forward":
        return None
    return Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message=f"{comparison.new!r} is a savepoint: it can be NEW only where OLD is a savepoint of Flink too.",
        name=comparison.new,
        side=Side.NEW,
        hint="Write compat check SAVEPOINT new.py.",
    )


def compare_savepoints(
    paths: Sequence[str], comparison: Comparison, meanwhile: Callable[[], object] | None = None
) -> list[Outcomes]:
    """Check NEW against several savepoints, loading NEW once; ``comparison.old`` is ignored."""
    from compat.savepoint.load import read_old

    failures: list[Failure] = []
    with ExitStack() as stack:
        jvms = stack.enter_context(WarmJvms())
        try:
            new = comparison.known.get(comparison.new) or stack.enter_context(
                opened(comparison.new, comparison.new_arguments, Side.NEW)
            )
            names = _names(comparison, jvms)
        except InputError as error:
            return [Outcomes((_undecided(comparison, [error.failure]),), {})]
        olds: dict[str, Savepoint | Failure] = {}
        for path in paths:
            try:
                olds[path] = Savepoint(read_old(Input(path, path, InputKind.SAVEPOINT), names))
            except InputError as error:
                olds[path] = error.failure
        read = {path: old for path, old in olds.items() if isinstance(old, Savepoint)}
        comparison = _of_pinned_versions(comparison, {Side.NEW: new})
        sides, answers = _load_all({Side.NEW: new}, comparison, failures, jvms, meanwhile, tuple(read.values()))
        if failures and (other := _of_the_api(comparison, failures)) is not None:
            return compare_savepoints(paths, other)
        if failures:
            return [Outcomes((_undecided(comparison, failures),), {})]
        sources = _sources({Side.NEW: new})
        loaded = sides[Side.NEW]
        told = dict(zip(read, answers, strict=True))
        outcomes = []
        for path, old in olds.items():
            one = replace(comparison, old=path)
            try:
                if isinstance(old, Failure):
                    raise InputError(old)
                reports = [_report(old, loaded, job, one, told[path].get(job)) for job in _jobs(old, loaded, one)]
                outcomes.append(Outcomes(tuple(_after(report, one, sources) for report in reports), sources))
            except InputError as error:
                outcomes.append(Outcomes((_undecided(one, [error.failure]),), sources))
        return outcomes


def decide(
    old: Plan | Refused | Savepoint,
    new: Plan | Refused,
    comparison: Comparison,
    sources: Mapping[str, list[str]],
    answers: Answers | None = None,
) -> Report:
    """The report on two loaded sides, without findings that comments in ``sources`` ignore. Raises InputError."""
    before = old if isinstance(old, Savepoint) else Kept(old)
    return _after(_report(before, Kept(new), 0, comparison, answers), comparison, sources)


def _load_all(
    inputs: Mapping[Side, Input],
    comparison: Comparison,
    failures: list[Failure],
    jvms: WarmJvms,
    meanwhile: Callable[[], object] | None,
    olds: Sequence[Savepoint] = (),
) -> tuple[dict[Side, Old], list[Mapping[int, Answers]]]:
    """The loaded sides, and the results of Flink restoring OLD's state (or that of each of ``olds``) into NEW, by job.

    Python programs that could depend on the hash seed are built a second time with another one.
    """
    sides: dict[Side, Old] = {}
    answers: list[Mapping[int, Answers]] = []
    names = _names_of_any(inputs, comparison, failures, jvms)
    flink = _begin_all(inputs, comparison, failures, jvms)
    try:
        kinds = (InputKind.PLAN, InputKind.SAVEPOINT)
        running = [side for side, one in inputs.items() if one.kind not in kinds and not one.kind.built_by_flink]
        timeout = comparison.load.timeout
        requests = [request_for(inputs[side], comparison.loading(side)) for side in running]
        batch = start(requests, timeout=timeout) if requests else None
        _import_the_check()
        if meanwhile is not None:
            meanwhile()
        first = dict(zip(running, finish(batch), strict=True)) if batch else {}
        _begin_with_pyflink({side: inputs[side] for side in first}, first, flink, comparison, failures, jvms)
        again = _build_again({side: inputs[side] for side in first if _may_differ(first[side])}, comparison)
        for side in sorted(inputs, key=lambda one: one is Side.NEW):
            given = inputs[side]
            try:
                if side in flink:
                    asked = _ask_all(flink[side], (sides[Side.OLD],) if Side.OLD in sides else olds, comparison, side)
                    made = flink[side].finish(side)
                    plans = made.plans
                    if side in first:
                        from compat.loader.jvm.pyflink.proof import proved

                        plans = of_version(proved(given, first[side], plans, side), comparison.loading(side))
                    sides[side] = Jobs(plans, again.get(side, ()), made.notes)
                    told = iter(made.answers)
                    answers += [{job: next(told) for job in jobs} for jobs in asked]
                elif side in first and side not in _failed(failures):
                    plans = made_by(given, first[side], comparison.loading(side), side)
                    sides[side] = Jobs(plans, again.get(side, ()), notes_of(given, first[side]), _loads(first[side]))
                elif side not in _failed(failures):
                    sides[side] = _kept(given, side, comparison, names)
            except InputError as error:
                failures.append(error.failure)
    finally:
        for loading in flink.values():
            loading.end()
    return sides, answers or [{} for _ in olds or (None,)]


def _loads(outcome: Outcome) -> Loads | None:
    return outcome.loads if isinstance(outcome, Loaded) else None


def _names_of_any(
    inputs: Mapping[Side, Input], comparison: Comparison, failures: list[Failure], jvms: WarmJvms
) -> Names | None:
    """The names that are told with a savepoint; None if there are none.

    They come first: the JVM of a program that tells them builds NEW next, and then nothing else until OLD's state is restored.
    """
    if any(given.kind is InputKind.SAVEPOINT for given in inputs.values()):
        try:
            return _names(comparison, jvms)
        except InputError as error:
            failures.append(error.failure)
    return None


def _kept(given: Input, side: Side, comparison: Comparison, names: Names | None) -> Old:
    """A side that needs no building. Raises InputError."""
    if given.kind is InputKind.SAVEPOINT:
        from compat.savepoint.load import read_old

        assert names is not None
        if (told := comparison.read.get(given.argument)) is not None:
            return Savepoint(told if comparison.names is None else replace(told, names=names))
        return Savepoint(read_old(given, names))
    plan = read_plan(given, side)
    return Snapshot(plan) if is_snapshot(given) else Kept(plan)


def _names(comparison: Comparison, jvms: WarmJvms) -> Names:
    """The names of a savepoint's operators. Raises InputError."""
    from compat.savepoint.load import read_names

    return read_names(
        comparison.names, comparison.loading(Side.OLD), comparison.job, comparison.old_arguments, jvms=jvms
    )


def _failed(failures: Sequence[Failure]) -> set[Side | None]:
    return {failure.side for failure in failures}


def _begin_all(
    inputs: Mapping[Side, Input], comparison: Comparison, failures: list[Failure], jvms: WarmJvms
) -> dict[Side, FlinkLoading]:
    """The sides that Flink's own classes build, started: NEW last, because OLD's state is restored into it."""
    if not any(given.kind.built_by_flink for given in inputs.values()):
        return {}
    from compat.loader.jvm.loading import begin

    begun = {}
    for side, given in inputs.items():
        if given.kind.built_by_flink:
            try:
                begun[side] = begin(given, comparison.loading(side), jvms, side)
            except InputError as error:
                failures.append(error.failure)
    return begun


def _begin_with_pyflink(
    inputs: Mapping[Side, Input],
    outcomes: Mapping[Side, Outcome],
    begun: dict[Side, FlinkLoading],
    comparison: Comparison,
    failures: list[Failure],
    jvms: WarmJvms,
) -> None:
    """Start the Python programs that PyFlink itself has to build."""
    for side, given in inputs.items():
        load = comparison.loading(side)
        if given.kind is InputKind.PROGRAM and needs_pyflink(outcomes[side], load):
            try:
                begun[side] = begin_with_pyflink(given, outcomes[side], load, jvms, side)
            except InputError as error:
                failures.append(error.failure)


def _ask_all(loading: FlinkLoading, olds: Sequence[Old], comparison: Comparison, side: Side) -> list[list[int]]:
    """Have the state of each OLD restored into NEW; gives the numbers of the jobs concerned."""
    if side is not Side.NEW:
        return []
    asked = []
    for old in olds:
        wanted = list(_restorable(old, comparison))
        for one in wanted:
            loading.restore(one)
        asked.append([one.job for one in wanted])
    return asked


def _restorable(old: Old, comparison: Comparison) -> Iterator[Restore]:
    """The state of OLD that Flink can restore, by job."""
    from compat.loader.jvm import messages
    from compat.state.flink.remote import is_remote

    job = comparison.job or 0
    if isinstance(old, Savepoint):
        path = old.recorded.copy or old.recorded.recorded.metadata
        if not path:  # it could not be read, here or there
            return
        folder = path if is_remote(path) else os.path.abspath(path)
        names, rehearse = old.recorded.names.program, comparison.rehearse
        limit = None
        if rehearse is not None:
            limit = messages.Limit(size=rehearse.size, entries=rehearse.entries, seconds=comparison.load.timeout)
        samples = () if names is None else names.samples
        yield messages.Restore(folder=folder, job=job, limit=limit, samples=samples)
        return
    plans = old.plans if isinstance(old, Jobs) else (old.plan,)
    for number, plan in enumerate(plans, start=0 if isinstance(old, Jobs) else job):
        if isinstance(plan, Plan) and plan.empty_savepoint is not None:
            yield messages.Restore(metadata=plan.empty_savepoint, samples=plan.samples, job=number)


def _may_differ(outcome: Outcome) -> bool:
    return (
        isinstance(outcome, Loaded)
        and outcome.crash is None
        and not (outcome.steady or outcome.needs_pyflink is not None)
    )


def _build_again(inputs: Mapping[Side, Input], comparison: Comparison) -> dict[Side, tuple[Plan | Refused, ...]]:
    if not inputs:
        return {}
    requests = [request_for(given, comparison.loading(side)) for side, given in inputs.items()]
    outcomes = finish(start(requests, timeout=comparison.load.timeout, hash_seed=SECOND_HASH_SEED))
    return {
        side: outcome.plans if isinstance(outcome, Loaded) else ()
        for side, outcome in zip(inputs, outcomes, strict=True)
    }


def _import_the_check() -> None:
    """Import the check's modules, and set up the decoder of plans, while the programs run in their own processes."""
    import compat.check.decision
    import compat.check.ignores  # noqa: F401
    from compat.loader.request import decoder

    decoder()


def _jobs(old: Old, new: Old, comparison: Comparison) -> Sequence[int]:
    """The numbers of the jobs to check. Raises InputError if the sides have different numbers of jobs."""
    counts = job_count(old, new), job_count(new, old)
    sides = ((Side.OLD, old, comparison.old), (Side.NEW, new, comparison.new))
    if comparison.job is not None:
        for (side, _, name), count in zip(sides, counts, strict=True):
            if count is not None and not 0 <= comparison.job < count:
                message = f"The program submits {count} job(s), counted from 0: there is no job {comparison.job}."
                raise InputError(Failure(rule=Undecidable.NO_JOB, message=message, name=name, side=side))
        return (comparison.job,)
    olds, news = (1 if count is None else count for count in counts)
    if olds == news:
        return range(olds)
    for side, given, name in sides:
        if isinstance(given, Jobs):
            for job in given.plans:
                _program(job, name, side)  # a refused job is the better reason
    raise InputError(
        Failure(
            rule=Undecidable.NO_JOB,
            message=f"{comparison.new} submits {news} jobs, and a savepoint is of one."
            if isinstance(old, Savepoint)
            else f"{comparison.old} submits {olds} jobs and {comparison.new} {news}.",
            name=comparison.new,
            side=Side.NEW,
            hint="Say which with --job-number N, counted from 0.",
            option="--job-number 0",
        )
    )


def _report(old: Old, new: Old, job: int, comparison: Comparison, answers: Answers | None = None) -> Report:
    started = Started(
        arguments=comparison.new_arguments,
        main_class=comparison.load.jars.main_class,
        pyfiles=tuple(map(os.path.relpath, comparison.load.pyfiles)),
    )
    return replace(_either_way(old, new, job, comparison, answers), started=started)


def _either_way(old: Old, new: Old, job: int, comparison: Comparison, answers: Answers | None) -> Report:
    """The report on one job of the two sides, valid for any default parallelism of its cluster."""
    from compat.refusals import refused

    plan = plan_of(new, job)
    if isinstance(plan, Refused):
        report = refused(plan, comparison.new, _old(job_of(old, job), None, comparison))
        if report is not None:
            return replace(report, direction=comparison.direction)
    report = _judged(old, new, job, comparison, answers)
    if not any(isinstance(one, Plan) and one.otherwise is not None for one in (plan, plan_of(old, job))):
        return report
    from compat.check.assumptions import under_both

    others = _under_another_parallelism(old, job), _under_another_parallelism(new, job)
    return under_both(report, _judged(*others, 0, comparison, answers))


def _under_another_parallelism(side: Old, job: int) -> Old:
    """One job of a side under another default parallelism of the cluster; the job as it is if that is the same."""
    plan = plan_of(side, job)
    if not isinstance(plan, Plan):
        return side
    again = rebuilt(side, job)
    if isinstance(side, Jobs):
        return Jobs((plan.otherwise or plan,), () if again is None else (again.otherwise or again,), side.notes)
    return side if plan.otherwise is None else Kept(plan.otherwise)


def _judged(old: Old, new: Old, job: int, comparison: Comparison, answers: Answers | None) -> Report:
    """The report on one job of the two sides, as they are."""
    from compat.check.context import CheckOptions
    from compat.check.decision import check, with_queries

    plan = plan_of(new, job)
    after = _new(job_of(new, job), comparison)
    if isinstance(old, Savepoint) and isinstance(new, Savepoint):
        answers = _of_savepoints(old, new)
    before = _old(job_of(old, job), after, comparison)
    if isinstance(earlier := plan_of(old, job), Plan) and earlier.flink_assumed:
        before = replace(before, flink=after.flink)  # an assumed version does not count as a change
    told = plan is not None and plan.language in _FLINK_TELLS
    options = CheckOptions(
        allow_non_restored=comparison.allow_non_restored,
        flink=after.flink if told else comparison.load.flink,
        flink_assumed=comparison.load.flink_assumed and not told,
        direction=comparison.direction,
        deployment=comparison.deployment,
        old_deployment=comparison.old_deployment,
        rewritten=comparison.rewritten,
        moving=_moving(old, comparison),
    )
    again = {
        side.value: facts_of(second, name=side.value, kind="program")
        for side, given in ((Side.OLD, old), (Side.NEW, new))
        if (second := rebuilt(given, job)) is not None
    }
    report = check(before, after, options, again, answers)
    loads = [comparison.loading(side) for side in Side]
    # Flink itself may have built them, in a version of its own.
    because = dict.fromkeys(one.flink_because for one in loads if not told or standing_for(after.flink) == one.flink)
    report = replace(report, notes=(*report.notes, *said_of(old, new), *filter(None, because)))
    writer = old.recorded.names.program if isinstance(old, Savepoint) else None
    if writer is not None:
        report = with_queries(report, check(writer, after, options))
    if answers is None:
        return report
    from compat.check.rehearsed import not_tried, rehearsed

    if comparison.rehearse is None:
        return replace(report, notes=(*report.notes, *not_tried(after, answers)))
    return replace(report, rehearsal=rehearsed(after, answers))


def _moving(old: Old, comparison: Comparison) -> str | None:
    """The command that moves OLD's state. The program that wrote the state gives more facts for it than the savepoint."""
    if comparison.moving is None:
        return None
    if isinstance(old, Snapshot):
        return comparison.moving.restore(comparison.old, comparison.new)
    on_disk = not is_running(comparison.old) and comparison.old not in comparison.known
    savepoint = comparison.old if on_disk and isinstance(old, Savepoint) else None
    writer = comparison.old if on_disk and not isinstance(old, Savepoint) else comparison.names
    return comparison.moving.command(savepoint, comparison.new, writer)


def _of_savepoints(old: Savepoint, new: Savepoint) -> Answers | None:
    """A note on two savepoints: where serializers differ, only their classes can decide the rest."""
    from compat.loader.jvm.answers import Answers
    from compat.savepoint.serializers import unlike

    found = unlike(old.recorded.recorded, new.recorded.recorded)
    hint = "Name the program that is to restore it: compat check SAVEPOINT new.jar."
    return Answers(operators={}, failure=" ".join(found), hint=hint) if found else None


def _new(job: Job, comparison: Comparison) -> Program:
    """The facts of NEW; for a savepoint, under its own names."""
    if not isinstance(job, Savepoint):
        return _program(job, comparison.new, Side.NEW)
    return job.recorded.program(comparison.new, _nothing(comparison))


def _old(job: Job, new: Program | None, comparison: Comparison) -> Program:
    """The facts of OLD; for a savepoint, under the names of NEW where NEW has that operator."""
    if not isinstance(job, Savepoint):
        return _program(job, comparison.old, Side.OLD)
    told = job.recorded.program(comparison.old, new or _nothing(comparison))
    given = comparison.loading(Side.OLD).flink
    return told if given == comparison.load.flink else replace(told, flink=given)


def _nothing(comparison: Comparison) -> Program:
    return Program(
        name=comparison.new,
        kind="program",
        job_name="",
        flink=comparison.load.flink,
        operators=(),
        vertices=(),
        settings={},
    )


def _program(plan: Plan | Refused, name: str, side: Side) -> Program:
    if isinstance(plan, Refused):
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED, message=plan.error.told, name=name, side=side, source=plan.error.source
            )
        )
    program = facts_of(plan, name=name, kind="program")
    return replace(program, kind="snapshot") if program.kept_by_store else program


def _after(report: Report, comparison: Comparison, sources: Mapping[str, list[str]]) -> Report:
    """The report without findings that the programs' comments, the settings and the baseline ignore."""
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
        job = revision_of(report.deployed.name)[1]
        kept, known, notes = baselines.apply(kept, baselines.read(comparison.baseline), job)
    return replace(with_findings(report, kept, (*ignored, *by_settings, *known)), notes=(*report.notes, *notes))


def _undecided(comparison: Comparison, failures: list[Failure]) -> Undecided:
    return Undecided(failures=tuple(failures), old=comparison.old, new=comparison.new, direction=comparison.direction)


def _sources(inputs: Mapping[Side, Input]) -> dict[str, list[str]]:
    """The source lines of the programs' own files."""
    sources = {}
    for given in inputs.values():
        if given.kind in (InputKind.SAVEPOINT, InputKind.JAR):
            continue
        try:
            with open_regular(given.path) as file:
                sources[given.argument] = file.read(LARGEST_SOURCE).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
    return sources
