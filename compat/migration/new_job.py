"""The job that will restore a savepoint, with its classes if Flink built it: they write values that compat cannot write
itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from compat.comparison import Comparison
from compat.compiler.versions import pyflink_version
from compat.loader.failure import Side
from compat.loader.inputs import FlinkJars, Input, InputKind, following, load, opened
from compat.loader.jvm.warm import WarmJvms
from compat.migration.recipe import Recipe, RenameClass
from compat.plan.facts import Program, facts_of
from compat.plan.recorded_states import has_kryo
from compat.savepoint.load import one_job
from compat.savepoint.operators import RequestError
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible
from compat.state.flink.metadata import of_other_kryo
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import Classes, Fields
from compat.state.model.job import Plan, Refused

if TYPE_CHECKING:
    from compat.loader.jvm.distribution import FlinkDistribution
    from compat.loader.jvm.loading import FlinkLoading
    from compat.loader.jvm.messages import Convert, Converted, KeyedForm

_BYTES_A_SECOND = 1 << 20
"""How much state a backend writes at the least: it gets that much time."""
_NAME_OLD = "name the jar that wrote it (--names OLD.jar)"
_ONLY_OLD = " If only OLD's classes read it, give OLD in place of NEW, and migrate the result."
_LAST_WITH_KRYO_2 = pyflink_version("1.20")
_NAME_FLINK = f"--old-flink-version {_LAST_WITH_KRYO_2}"


class Writer(Struct, frozen=True):
    """The writer of a savepoint: the program, if given, its Flink, and the format of the metadata."""

    program: str | None
    flink: FlinkJars
    format: int

    def flink_beside(self, new: FlinkDistribution) -> tuple[str, ...]:
        """The jars of OLD's Flink, which has another Kryo than NEW's; none if it has the same. Raises Unconvertible.

        Every Flink 1 has the same Kryo: if NEW's Flink is downloaded, one of them is, too.
        """
        from compat.loader.jvm.distribution import find_flink, parsed
        from compat.loader.jvm.errors import JvmError
        from compat.loader.jvm.loading import places_of

        if not of_other_kryo(self.format, parsed(new.version)):
            return ()
        jars = self.flink
        if new.fetched and not (jars.home or jars.version):
            jars = replace(jars, version=_LAST_WITH_KRYO_2)
        try:
            found = find_flink(replace(places_of(jars), fetch_harness=False))
        except JvmError as error:
            raise Unconvertible(f"Kryo of Flink 1 wrote it, name that Flink ({_NAME_FLINK}): {error}") from None
        if of_other_kryo(self.format, parsed(found.version)):
            raise Unconvertible(f"Kryo of Flink 1 wrote it, and {found.version} is another one: {_NAME_FLINK}")
        return found.classpath


class NewJob(Struct, frozen=True):
    """The job that will restore a savepoint: how it writes its values, and its classes, if available."""

    program: Program
    classes: FlinkClasses | None = None


def new_job(check: Comparison, recipe: Recipe, wrote: Writer, jvms: WarmJvms, stack: ExitStack) -> NewJob:
    """The job of NEW, for a savepoint written by ``wrote``. Its resources are open until ``stack`` is closed.

    Raises InputError, and RequestError for a job that Flink refuses.
    """
    given = stack.enter_context(opened(check.new, check.new_arguments, Side.NEW))
    if not given.kind.built_by_flink:
        return NewJob(_facts(load(given, check.load, Side.NEW), given, check)[0])
    from compat.loader.jvm.loading import begin

    loading = begin(given, following(given, check.load), jvms, Side.NEW)
    program, number = _facts(loading.finish(Side.NEW).plans, given, check)
    jars = () if wrote.program is None else _jar(stack.enter_context(opened(wrote.program, (), Side.OLD)))
    renamed = {step.name: step.to for step in recipe.steps if isinstance(step, RenameClass)}
    return NewJob(program, FlinkClasses(loading, number, wrote, jars, renamed))


def _facts(plans: tuple[Plan | Refused, ...], given: Input, check: Comparison) -> tuple[Program, int]:
    """The facts of the one job that is meant, and its place among the others."""
    plan = one_job(plans, check.new, check.job)
    if isinstance(plan, Refused):
        raise RequestError(f"Flink refuses {check.new}: {plan.error.told}")
    return facts_of(plan, name=check.new, kind=given.kind), plans.index(plan)


def _jar(given: Input) -> tuple[str, ...]:
    return (given.path,) if given.kind is InputKind.JAR else ()


class FlinkClasses(Classes):
    """The classes of OLD and NEW in a JVM. ``jars`` are OLD's: without them NEW's classes read OLD's values, as far as
    Flink can.
    """

    def __init__(
        self, loading: FlinkLoading, job: int, wrote: Writer, jars: tuple[str, ...], renamed: Mapping[str, str]
    ) -> None:
        self._loading, self._job, self._wrote = loading, job, wrote
        self._jars, self._renamed = jars, dict(renamed)

    def convert(
        self, old: bytes, new: bytes, kind: str, fields: Fields, values: Sequence[bytes], keys: bytes = b""
    ) -> list[bytes]:
        """Values of a state of some kind, read by one serializer and written by another one. Raises Unconvertible."""
        from compat.loader.jvm.messages import Convert

        fields.require_unfilled()
        of_kryo = has_kryo(read_versioned(ByteReader(old, "OLD's serializer"), 0))
        if not self._jars and of_kryo:
            raise Unconvertible(f"only OLD's own class reads what Kryo wrote: {_NAME_OLD}")
        if not self._jars and fields != Fields():
            raise Unconvertible(f"only OLD's own class has its fields: {_NAME_OLD}")
        asked = Convert(
            job=self._job,
            classpath=self._jars,
            flink=self._beside if of_kryo else (),
            old=old,
            new=new,
            kind=kind,
            keys=keys,
            fields=dict(fields.sources),
            constants=dict(fields.constants),
            without=tuple(fields.dropped),
            classes=self._renamed,
            values=tuple(values),
        )
        return list(self._asked(asked).values)

    @cached_property
    def _beside(self) -> tuple[str, ...]:
        return self._wrote.flink_beside(self._loading.flink)

    def hashes(self, serializer: bytes, keys: Sequence[bytes]) -> list[int]:
        """The hash codes of NEW's keys. Raises Unconvertible."""
        from compat.loader.jvm.messages import Convert

        return list(self._asked(Convert(job=self._job, new=serializer, hashes=True, values=tuple(keys))).hashes)

    def write_keyed(self, metadata: str, operator: str, form: KeyedForm, size: int) -> None:
        """Have a state backend of NEW's Flink write the keyed state of an operator. Raises RequestError."""
        from compat.loader.jvm.messages import WriteKeyed

        seconds = size / _BYTES_A_SECOND
        asked = WriteKeyed(job=self._job, metadata=metadata, operator=operator, form=form, seconds=seconds)
        answer = self._loading.write_keyed(asked)
        if answer is None:
            raise RequestError("Flink did not write the state anew: its JVM ended, or took longer than --timeout.")
        if answer.failure:
            other = _ONLY_OLD if form == "canonical" else ""
            raise RequestError(f"Flink did not write the state anew: {answer.failure}.{other}")

    def _asked(self, asked: Convert) -> Converted:
        answer = self._loading.convert(asked)
        if answer is None:
            raise Unconvertible("the JVM ended, or took longer than --timeout for some thousand values")
        if answer.failure:
            raise Unconvertible(answer.failure)
        return answer
