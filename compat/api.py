"""The public interface of ``import compat``: the check, the plan and the inspection as functions that give typed results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.check.findings import Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare
from compat.loader.failure import Failure, Undecidable
from compat.loader.inputs import FlinkJars, InputError, LoadOptions, load, opened
from compat.migration.going_back import with_way_back
from compat.plan.facts import Program, facts_of
from compat.state.model.job import Refused

Job = str | os.PathLike[str]
"""A program (``job.py``, a jar, an SQL script), a topology file, a plan, or ``git:REF:path``; as OLD a savepoint too."""


class StateSummary(Struct, frozen=True, kw_only=True):
    """A state in a snapshot: its name, its kind, and its bytes (None if the layout does not show them)."""

    name: str
    type: str
    bytes: int | None


class StoredOperator(Struct, frozen=True, kw_only=True):
    """An operator in a snapshot. ``uid`` and ``name`` are None if the snapshot does not record them."""

    id: str
    uid: str | None
    name: str | None
    parallelism: int
    max_parallelism: int
    has_state: bool
    bytes: int
    states: tuple[StateSummary, ...]


class Inspection(Struct, frozen=True, kw_only=True):
    """The contents of a snapshot. ``format`` is the version of Flink's metadata, or ``delta`` for a job on Spark.

    ``missing_files`` are the files whose absence prevents a restore here; ``bytes`` is the size of all state.
    """

    path: str
    format: str
    checkpoint_id: int
    bytes: int
    operators: tuple[StoredOperator, ...]
    missing_files: tuple[str, ...]


def check(
    old: Job,
    new: Job,
    *,
    allow_non_restored_state: bool = False,
    rollback: bool = False,
    old_args: Sequence[str] = (),
    new_args: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    job: int | None = None,
    names: str | None = None,
    flink: str | None = None,
    timeout: float | None = None,
    call_open: bool = True,
    jars: FlinkJars | None = None,
    old_jars: FlinkJars | None = None,
) -> tuple[Report | Undecided, ...]:
    """Whether NEW restores the state of OLD: an outcome for each job that the programs submit.

    An outcome has a ``verdict``; that of an :class:`Undecided` is unknown, and its ``failures`` say why. With ``rollback``,
    the outcomes of going back from NEW to OLD follow. The other arguments are the options of ``compat check``: ``options``
    those of ``-D``, ``timeout`` in seconds, ``jars`` where Flink's classes come from for jobs built by Flink, and
    ``old_jars`` the same for OLD if that differs. Settings files are ignored; comments in the programs are not.

    >>> import compat
    >>> (report,) = compat.check("word_count/v1.py", "word_count/v2.py")
    >>> report.verdict
    <Verdict.INCOMPATIBLE: 'incompatible'>
    >>> print(*{finding.rule for finding in report.findings if finding.level is compat.Level.ERROR})
    CMP103
    """
    load = _load_options(options, flink, timeout, call_open, jars)
    forward = Comparison(
        old=os.fspath(old),
        new=os.fspath(new),
        load=load,
        load_old=None if old_jars is None else replace(load, jars=old_jars.over(load.jars)),
        old_arguments=tuple(old_args),
        new_arguments=tuple(new_args),
        allow_non_restored=allow_non_restored_state,
        job=job,
        names=names,
    )
    comparisons = [forward, forward.reversed()] if rollback else [forward]
    return tuple(outcome for comparison in comparisons for outcome in with_way_back(compare(comparison)).outcomes)


def plan(
    job: Job,
    *,
    args: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    flink: str | None = None,
    timeout: float | None = None,
    call_open: bool = True,
    jars: FlinkJars | None = None,
) -> tuple[Program, ...]:
    """The jobs that a program submits: their operators with ids, states and settings.

    The arguments are the options of ``compat plan``. Raises InputError for a program that cannot be loaded, submits no
    job, or is refused by Flink.

    >>> import compat
    >>> (job,) = compat.plan("word_count/v1.py")
    >>> [operator.name for operator in job.operators if operator.has_state]
    ['Source: numbers', 'count words']
    """
    argument = os.fspath(job)
    with opened(argument, tuple(args)) as given:
        plans = load(given, _load_options(options, flink, timeout, call_open, jars))
    programs = []
    for each in plans:
        if isinstance(each, Refused):
            raise _unusable(argument, each.error.told)
        programs.append(facts_of(each, name=argument, kind=given.kind))
    return tuple(programs)


def inspect(snapshot: str | os.PathLike[str]) -> Inspection:
    """The contents of a savepoint or checkpoint, of Flink or of a job on Spark. Raises InputError if it cannot be read.

    ``compat.inspect("savepoint-1a2b3c").operators`` are its operators, each with its id, states and bytes.
    """
    from compat.savepoint.describe import describe
    from compat.state.delta.errors import StoreError
    from compat.state.flink import SavepointError

    path = os.fspath(snapshot)
    try:
        found = describe(path)
    except (SavepointError, StoreError) as error:
        raise _unusable(path, str(error), rule=Undecidable.SAVEPOINT_UNREADABLE) from error
    except ModuleNotFoundError as error:
        raise _unusable(path, f"Reading it needs {error.name!r}: pip install 'stream-compat[spark]'.") from error
    return Inspection(
        path=path,
        format=str(found["format_version"]),
        checkpoint_id=found["checkpoint_id"],
        bytes=found["total_bytes"],
        operators=tuple(_stored(operator) for operator in found["operators"]),
        missing_files=tuple(file["name"] for file in found["missing_files"]),
    )


def _load_options(
    options: Mapping[str, str] | None,
    flink: str | None,
    timeout: float | None,
    call_open: bool,
    jars: FlinkJars | None,
) -> LoadOptions:
    return LoadOptions.given(options or {}, flink=flink, timeout=timeout, no_open=not call_open, jars=jars)


def _unusable(name: str, message: str, rule: Undecidable = Undecidable.PROGRAM_FAILED) -> InputError:
    return InputError(Failure(rule=rule, message=message, name=name))


def _stored(operator: Mapping[str, Any]) -> StoredOperator:
    totals = operator["totals"]
    return StoredOperator(
        id=operator["id"],
        uid=operator["uid"],
        name=operator["name"],
        parallelism=operator["parallelism"],
        max_parallelism=operator["max_parallelism"],
        has_state=operator["has_state"],
        bytes=totals["bytes"],
        states=tuple(
            StateSummary(name=state["name"], type=state["type"], bytes=state["bytes"]) for state in totals["states"]
        ),
    )
