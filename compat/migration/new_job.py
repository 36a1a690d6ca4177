"""The job that is to restore a savepoint, with its classes where Flink built it: they write what is not written here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from compat.comparison import Comparison
from compat.loader.failure import Side
from compat.loader.inputs import Input, InputKind, following, load, opened
from compat.loader.jvm.warm import WarmJvms
from compat.migration.recipe import Recipe, RenameClass
from compat.plan.facts import Program, facts_of
from compat.plan.recorded_states import has_kryo
from compat.savepoint.load import one_job
from compat.savepoint.operators import RequestError
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import Classes, Fields
from compat.state.model.job import Plan, Refused

if TYPE_CHECKING:
    from compat.loader.jvm.loading import FlinkLoading
    from compat.loader.jvm.messages import Convert, Converted

_NAME_OLD = "name the jar that wrote it (--names OLD.jar)"


class NewJob(Struct, frozen=True):
    """The job that is to restore a savepoint: how it writes its values, and its classes, where they are at hand."""

    program: Program
    classes: Classes | None = None


def new_job(check: Comparison, recipe: Recipe, old: str | None, jvms: WarmJvms, stack: ExitStack) -> NewJob:
    """The job of NEW. ``old`` is the program that wrote the savepoint. What it needs is open until ``stack`` is closed.

    Raises InputError, and RequestError for a job that Flink refuses.
    """
    given = stack.enter_context(opened(check.new, check.new_arguments, Side.NEW))
    if not given.kind.built_by_flink:
        return NewJob(_facts(load(given, check.load, Side.NEW), given, check)[0])
    from compat.loader.jvm.loading import begin

    loading = begin(given, following(given, check.load), jvms, Side.NEW)
    program, number = _facts(loading.finish(Side.NEW).plans, given, check)
    jars = () if old is None else _jar(stack.enter_context(opened(old, (), Side.OLD)))
    renamed = {step.name: step.to for step in recipe.steps if isinstance(step, RenameClass)}
    return NewJob(program, FlinkClasses(loading, number, jars, renamed))


def _facts(plans: tuple[Plan | Refused, ...], given: Input, check: Comparison) -> tuple[Program, int]:
    """The facts of the one job that is meant, and its place among the others."""
    plan = one_job(plans, check.new, check.job)
    if isinstance(plan, Refused):
        raise RequestError(f"Flink refuses {check.new}: {plan.error.told}")
    return facts_of(plan, name=check.new, kind=given.kind), plans.index(plan)


def _jar(given: Input) -> tuple[str, ...]:
    return (given.path,) if given.kind is InputKind.JAR else ()


class FlinkClasses:
    """The classes of OLD and NEW in a JVM. ``jars`` are OLD's: without them NEW's read what OLD wrote, as far as Flink does."""

    def __init__(self, loading: FlinkLoading, job: int, jars: tuple[str, ...], renamed: Mapping[str, str]) -> None:
        self._loading, self._job = loading, job
        self._jars, self._renamed = jars, dict(renamed)

    def convert(self, old: bytes, new: bytes, kind: str, fields: Fields, values: Sequence[bytes]) -> list[bytes]:
        """Values of a state of some kind, read by one serializer and written by another one. Raises Unconvertible."""
        from compat.loader.jvm.messages import Convert

        fields.require_unfilled()
        if not self._jars and has_kryo(read_versioned(ByteReader(old, "OLD's serializer"), 0)):
            raise Unconvertible(f"only OLD's own class reads what Kryo wrote: {_NAME_OLD}")
        if not self._jars and fields != Fields():
            raise Unconvertible(f"only OLD's own class has its fields: {_NAME_OLD}")
        asked = Convert(
            job=self._job,
            classpath=self._jars,
            old=old,
            new=new,
            kind=kind,
            fields=dict(fields.sources),
            constants=dict(fields.constants),
            without=tuple(fields.dropped),
            classes=self._renamed,
            values=tuple(values),
        )
        return list(self._asked(asked).values)

    def hashes(self, serializer: bytes, keys: Sequence[bytes]) -> list[int]:
        """The hash codes of NEW's keys. Raises Unconvertible."""
        from compat.loader.jvm.messages import Convert

        return list(self._asked(Convert(job=self._job, new=serializer, hashes=True, values=tuple(keys))).hashes)

    def _asked(self, asked: Convert) -> Converted:
        answer = self._loading.convert(asked)
        if answer is None:
            raise Unconvertible("the JVM ended, or took longer than --timeout for some thousand values")
        if answer.failure:
            raise Unconvertible(answer.failure)
        return answer
