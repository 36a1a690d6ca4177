"""Verifies the plans that compat's compiler made of a Python program with those that PyFlink itself made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import Input, InputError
from compat.loader.process import Outcome
from compat.loader.request import Loaded
from compat.state.model.job import Plan, Refused


def proved(
    given: Input, outcome: Outcome, real: Sequence[Plan | Refused], side: Side | None
) -> tuple[Plan | Refused, ...]:
    """The plans that PyFlink itself made of a program, compared with those that our compiler made, if it could.

    Where they agree, ours are as good, and tell more of states and lines. Raises InputError if they do not.
    """
    if not isinstance(outcome, Loaded) or outcome.crash is not None or outcome.needs_pyflink is not None:
        return tuple(real)
    versions = {plan.flink for plan in (*outcome.plans, *real)} - {""}
    if len(versions) > 1:
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=f"PyFlink is of Flink {real[0].flink}, and the check is for Flink {outcome.plans[0].flink}.",
                name=given.argument,
                side=side,
                hint="Or give another PyFlink with --pyflink PYTHON.",
                option=f"--flink {real[0].flink}",
            )
        )
    found = next(differences(outcome.plans, real), None)
    if found is None:
        return outcome.plans
    raise InputError(
        Failure(
            rule=Undecidable.INTERNAL_ERROR,
            message=f"This is a bug of compat, not of the program: PyFlink builds it differently. {found}",
            name=given.argument,
            side=side,
            hint="Please report it, with the program.",
        )
    )


def differences(ours: Sequence[Plan | Refused], real: Sequence[Plan | Refused]) -> Iterator[str]:
    """The differences of the compiler's plans from PyFlink's, in sentences."""
    if len(ours) != len(real):
        yield f"It submits {len(real)} job(s), not {len(ours)}."
    for mine, flinks in zip(ours, real, strict=False):
        if isinstance(mine, Plan) and isinstance(flinks, Plan):
            yield from _between(mine, flinks)
        elif isinstance(mine, Plan) or isinstance(flinks, Plan):
            refused, who = (flinks, "Flink") if isinstance(mine, Plan) else (mine, "compat")
            assert isinstance(refused, Refused)
            yield f"Only {who} refuses the job: {refused.error.message}"


def _between(mine: Plan, flinks: Plan) -> Iterator[str]:
    """Where the operators of two plans differ: in their ids, chains, parallelism or states."""
    by_id = {one.id: one for one in flinks.operators}
    for one in mine.operators:
        other = by_id.pop(one.id, None)
        if other is None:
            yield f"No operator has the id {one.id}, which compat has for {one.label}."
            continue
        for what, ours, theirs in (
            ("name", one.name, other.name),
            ("vertex", one.vertex, other.vertex),
            ("parallelism", one.parallelism, other.parallelism),
            ("max parallelism", one.max_parallelism, other.max_parallelism),
        ):
            if ours != theirs:
                yield f"The {what} of {one.label} is {theirs}, and not {ours}."
    yield from (f"{other.label} has the id {other.id}, which compat has for none." for other in by_id.values())
