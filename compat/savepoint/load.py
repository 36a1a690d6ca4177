"""Loads a savepoint as the OLD side of a check, by its path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import Input, InputError, LoadOptions, load, opened
from compat.plan.facts import Program, facts_of
from compat.savepoint import facts
from compat.savepoint.names import TABLES, Names, NamesError, of_program, read_table
from compat.savepoint.recorded import Recorded, read
from compat.state.flink import SavepointError
from compat.state.model.job import Plan, Refused

if TYPE_CHECKING:
    from compat.loader.jvm.warm import WarmJvms


class OldSavepoint(Struct, frozen=True):
    """A savepoint that was read, with the operator names from elsewhere.

    ``notes`` are remarks on its origin, ``copy`` is the path of a copy for Flink's classes, if there is one.
    """

    recorded: Recorded
    names: Names
    notes: tuple[str, ...] = ()
    copy: str = ""

    def program(self, name: str, new: Program) -> Program:
        """The facts of the savepoint, to be compared with ``new``."""
        return facts.program(self.recorded, name, new, self.names)


def read_old(given: Input, names: Names) -> OldSavepoint:
    """The savepoint behind an input. Raises InputError, with the byte at which reading stopped."""
    try:
        recorded = read(given.path)
        newest = os.path.basename(os.path.dirname(recorded.metadata))
        found = newest.startswith("chk-") and newest not in given.path
        notes = (f"OLD is {newest}, the newest complete checkpoint in {given.argument}.",) if found else ()
        return OldSavepoint(recorded, names, notes)
    except SavepointError as error:
        raise InputError(
            Failure(
                rule=Undecidable.SAVEPOINT_UNREADABLE,
                message=str(error).removesuffix(f" {error.advice}"),
                name=given.argument,
                side=Side.OLD,
                hint=error.advice,
            )
        ) from error


def read_names(
    argument: str | None,
    options: LoadOptions,
    job: int | None,
    arguments: tuple[str, ...] = (),
    side: Side | None = Side.OLD,
    jvms: WarmJvms | None = None,
) -> Names:
    """The names from ``--names``: a table of uids, or a program, topology file or plan. Raises InputError.

    ``options`` and ``arguments`` are those of the program; ``job`` selects the job that wrote the savepoint. ``side`` is None
    if the command has only one program, whose options these are. ``jvms`` are for callers that build another program, too.
    """
    if argument is None:
        return Names()
    if os.path.splitext(argument)[1] in TABLES:
        try:
            return read_table(argument)
        except NamesError as error:
            raise InputError(
                Failure(rule=Undecidable.PROGRAM_FAILED, message=str(error), name=argument, side=side)
            ) from error
    with opened(argument, arguments, side) as given:
        if given.kind == "savepoint":
            raise InputError(
                Failure(
                    rule=Undecidable.PROGRAM_FAILED,
                    message="A savepoint tells no names to another one.",
                    name=argument,
                    side=side,
                )
            )
        plans = load(given, options, side, jvms=jvms)
    return of_program(_facts(one_job(plans, argument, job, side), argument, side))


def one_job(
    plans: tuple[Plan | Refused, ...], argument: str, job: int | None, side: Side | None = Side.OLD
) -> Plan | Refused:
    """The one job of a program, or the one of a number. Raises InputError if it has several and none is named."""
    if len(plans) == 1 or (job is not None and 0 <= job < len(plans)):
        return plans[0 if len(plans) == 1 else job or 0]
    raise InputError(
        Failure(
            rule=Undecidable.NO_JOB,
            message=f"{argument} submits {len(plans)} jobs.",
            name=argument,
            side=side,
            hint="Say which with --job-number N, counted from 0.",
            option="--job-number 0",
        )
    )


def _facts(plan: Plan | Refused, argument: str, side: Side | None) -> Program:
    if isinstance(plan, Refused):
        message = f"The plan is of a program that Flink refuses: {plan.error.message}"
        raise InputError(Failure(rule=Undecidable.PROGRAM_FAILED, message=message, name=argument, side=side))
    return facts_of(plan, name=argument, kind="program")
