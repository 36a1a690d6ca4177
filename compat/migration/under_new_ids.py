"""A recipe for operators whose ids changed: a check under the new ids shows which further steps their state needs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.inputs import Input, InputError, InputKind
from compat.loader.jvm.warm import WarmJvms
from compat.migration.functions import Functions
from compat.migration.proposing import Proposal, propose
from compat.migration.recipe import MoveState, Open, Recipe, RenameClass, RenameField, RenameOperator, Step
from compat.migration.resolving import resolve
from compat.migration.telling import told_after
from compat.savepoint.load import read_names, read_old
from compat.savepoint.operators import RequestError, new_id
from compat.state.flink import Changes, SavepointError, read_draft, with_references
from compat.state.flink.remapping import unfinished
from compat.state.flink.remote import read_savepoint


def propose_all(report: Report, comparison: Comparison) -> tuple[Proposal, ...]:
    """The steps for OLD's state, including that of operators under other ids.

    Flink's classes are asked about the state of operators with the same id in both; for jars, the others are tried
    again under their ids in NEW. The state of Python programs and queries is compared without them.
    """
    found = propose(report)
    renames = tuple(one.step for one in found if isinstance(one.step, RenameOperator))
    if report.old.kind != "savepoint" or report.new.language != "java" or not renames:
        return found
    steps = [one.step for one in found]
    try:
        more = [one for one in _under_new_ids(comparison, renames) if one.step not in steps]
    except (InputError, RequestError, SavepointError):
        return found  # state files are missing, say, as the check has reported
    return (*found, *more)


def _under_new_ids(comparison: Comparison, renames: tuple[RenameOperator, ...]) -> Iterator[Proposal]:
    """The proposals of a check of the savepoint as the renames make it, for the savepoint as it is."""
    draft = read_draft(read_savepoint(comparison.old))
    with ExitStack() as stack:
        jvms = stack.enter_context(WarmJvms())
        names = read_names(comparison.names, comparison.load_old or comparison.load, comparison.job, jvms=jvms)
        transfer = resolve(Recipe(steps=renames), draft.savepoint, names, Functions(comparison.load, stack)).transfer
        here = stack.enter_context(tempfile.TemporaryDirectory())
        making = stack.enter_context(unfinished(str(Path(here, "renamed"))))
        making.take(with_references(draft, Changes(ids=transfer.ids)))
        known = Input(comparison.old, making.metadata, InputKind.SAVEPOINT)
        read = read_old(known, told_after(names, transfer, None))
        (again,) = compare(
            replace(comparison, known={comparison.old: known}, read={comparison.old: read}, names=None), jvms=jvms
        ).outcomes
    called = {text: step.operator for step in renames for text in (step.to, new_id(step.to).id)}
    for one in propose(again) if isinstance(again, Report) else ():
        if not isinstance(one.step, RenameOperator):
            yield Proposal(_of(one.step, called), one.because, tuple(_of(step, called) for step in one.instead))


def _of(step: Step, called: Mapping[str, str]) -> Step:
    """A step with the names of the savepoint: operators that were renamed are called as they were."""
    match step:
        case RenameClass() | RenameField() | Open(operator=None):
            return step
        case MoveState(operator=operator, to=to):
            return replace(step, operator=called.get(operator, operator), to=called.get(to, to))
        case _:
            return replace(step, operator=called.get(step.operator or "", step.operator))
