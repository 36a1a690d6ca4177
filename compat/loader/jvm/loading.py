"""From an input that Flink builds to its plans, and the results of restoring OLD's state into them."""

from __future__ import annotations

import linecache
import re
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.configuration import DEFAULT_PARALLELISM, PARALLELISM
from compat.compiler.errors import ProgramError
from compat.loader.digests import of_file
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.flink_version import release_of
from compat.loader.former import advice_on, passed_over
from compat.loader.inputs import (
    FlinkJars,
    Input,
    InputError,
    InputKind,
    LoadOptions,
    given_properties,
    note_on_absent,
    note_on_endless,
    pyfiles_of,
)
from compat.loader.jvm.adopting import adopted, lacked
from compat.loader.jvm.answers import Answers, answers_of
from compat.loader.jvm.compiled import Disagreement, minor_version
from compat.loader.jvm.connector_jars import connector_jars
from compat.loader.jvm.distribution import FETCHES, OLDEST, FlinkDistribution, FlinkPlaces, find_flink, parsed
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import check_jar, failed, of_another_version, refused
from compat.loader.jvm.java import find_java
from compat.loader.jvm.messages import (
    CompiledPlan,
    Convert,
    Converted,
    JarProgram,
    Program,
    PyFlinkProgram,
    Restore,
    Restored,
    SqlScript,
    WriteKeyed,
    Wrote,
)
from compat.loader.jvm.plans import plan_of, refused_by, refused_of
from compat.loader.jvm.process import JvmOptions, JvmOutcome, JvmProcess, Setup
from compat.loader.jvm.pyflink.choosing import choose, may_be_of, unlike_pin
from compat.loader.jvm.pyflink.installed import flink_of
from compat.loader.jvm.runtime_properties import folder_for, library_for
from compat.loader.jvm.stand_ins import stand_in
from compat.loader.jvm.warm import WarmJvms
from compat.loader.shown import show_path
from compat.loader.told_by_project import with_project
from compat.state.model.job import Assumed, Plan, Refused

_EXTRA = "pip install 'stream-compat[jvm]'"
_NOTHING_LEFT = "No operators defined in streaming topology"
"""The message of ``StreamExecutionEnvironment.getStreamGraph`` for an environment whose jobs were already submitted."""
_LEAVE_AWAY = "Remove env.execute(): execute_sql() and Table.execute_insert() submit their jobs themselves."
_OF_NONE = "'NoneType' object has no attribute"
_WAITED = re.compile(r"\b(?:execute_insert|execute_sql)\(.*\.wait\([^()]*\)\.\w+")
_NO_TABLES = (
    "The jar of --connector has none: this release may be for the DataStream API alone. Name another release with "
    "--connector NAME:RELEASE, or give a jar with --classpath."
)
_GIVES_NONE = "Remove what follows wait(), which gives None."
_ALONE = (
    "The program creates its execution environment itself, so flink run refuses it: it is judged as if run "
    "without it. StreamExecutionEnvironment.getExecutionEnvironment() works in both cases."
)


class FlinkJobs(Struct, frozen=True, kw_only=True):
    """The jobs of a program as Flink built them, and the results of the restores into them, in order.

    ``notes`` are remarks on how they were made.
    """

    plans: tuple[Plan | Refused, ...]
    answers: tuple[Answers, ...]
    notes: tuple[str, ...] = ()


_MAKES = "{} {} makes an environment with the other."
_OF_VERSIONS = re.compile(r"[\w.]+\.(?!NullPointer)\w+|AttributeError|ImportError|ModuleNotFoundError|Py4JError")
"""Exceptions that another version of Flink may not raise: those of Java, which have a package, and some of Python."""


class FlinkLoading:
    """A program on its way through Flink: :func:`begin` makes it, :meth:`finish` waits for what it gives.

    ``load`` is how it is loaded: whether another version of PyFlink can be tried depends on it, as what a failure advises does.
    """

    def __init__(
        self,
        given: Input,
        program: Program,
        setup: Setup,
        jvms: WarmJvms,
        notes: tuple[str, ...] = (),
        load: LoadOptions | None = None,
    ) -> None:
        self._given, self._program, self._notes = given, program, notes
        self._setup, self._jvms = setup, jvms
        self._show_path = show_path(given.path, given.argument, given.root, given.root_shown, given.folder)
        self._load = load or LoadOptions()
        self._pinned = unlike_pin(self._load, setup.flink.version) if isinstance(program, PyFlinkProgram) else None
        self._adopted: set[str] = set()
        self._assumed: tuple[Assumed, ...] = ()
        self._asked: list[Restore] = []
        self._building = jvms.take(setup).build(program)
        self._ended = False

    @property
    def flink(self) -> FlinkDistribution:
        """The Flink that builds it."""
        return self._setup.flink

    def restore(self, wanted: Restore) -> None:
        """Have OLD's state restored into one of the program's jobs; no other program was begun since."""
        self._asked.append(wanted)
        if self._building.jvm.closed:
            # The other program failed, and was tried again in a new JVM.
            self._build_again(self._jvms.take(self._setup))
        else:
            self._building.restore(wanted)

    def convert(self, wanted: Convert) -> Converted | None:
        """Have values written by the program's classes, once it has finished; no other program was begun since.

        None if the JVM ended, or its time was up.
        """
        return self._building.convert(wanted)

    def write_keyed(self, wanted: WriteKeyed) -> Wrote | None:
        """Have state of a savepoint written by a backend, under the same conditions as :meth:`convert`."""
        return self._building.write_keyed(wanted)

    def finish(self, side: Side | None = None) -> FlinkJobs:
        """The plans, and the answers to the restores. Raises InputError."""
        outcome = self._outcome()
        self._ended = True
        refusal = outcome.crash if outcome.crash is not None and outcome.crash.refused else None
        failure = failed(outcome, self._program, self._setup.options, self._given.argument, side, self._show_path)
        behind = self._behind_last_job(failure, outcome)
        if failure is not None and refusal is None and not behind:
            if isinstance(self._program, PyFlinkProgram):
                failure = of_another_version(failure, self._setup.flink.version, Path(self._program.path).read_bytes())
                failure = self._as_project_pins(self._as_project_tells(failure, outcome), outcome)
            tried = failure.flink is not None and may_be_of(failure.flink, self._load)
            raise InputError(self._with_given(failure if tried else replace(failure, flink=None)))
        plans: list[Plan | Refused] = []
        for job in outcome.jobs:
            try:
                plans.append(plan_of(job, self._given.argument, self._show_path))
            except Disagreement as error:
                raise InputError(self._disagreement(error, side)) from error
            except ProgramError as error:
                plans.append(refused_by(error, job, self._show_path))
        if refusal is not None:
            plans.append(refused_of(refusal, self._setup.flink.version, self._given.argument, self._show_path))
        program = of_file(self._given.path) if self._given.kind.built_by_flink else None
        made = tuple(replace(self._assuming(plan), program=program) for plan in plans)
        alone = (_ALONE,) if any(isinstance(plan, Plan) and plan.alone for plan in plans) else ()
        file, _, line = outcome.endless.rpartition(":")
        waits = note_on_endless(f"{self._show_path(file)}:{line}" if line else "")
        said = (*note_on_absent(self._given, outcome.absent), *map(passed_over, outcome.former), *behind, *waits)
        return FlinkJobs(plans=made, answers=self._answers(outcome), notes=(*self._notes, *said, *alone))

    def _as_project_tells(self, failure: Failure, outcome: JvmOutcome) -> Failure:
        """A failure for lack of arguments or variables, with those that the program's project has."""
        lack = None if outcome.crash is None else outcome.crash.lacks
        missed = [name for name in outcome.missed if f"{name} (" in (failure.hint or "")]
        return with_project(failure, lack, missed, self._given.path, self._given.root or None)

    def _as_project_pins(self, failure: Failure, outcome: JvmOutcome) -> Failure:
        """A failure of a program that may need the version that its project pins, with the command that makes that one."""
        if self._pinned is None or failure.command or failure.option or outcome.crash is None:
            return failure
        _, ended = advice_on(failure.message, minor_version(self._setup.flink.version))
        if ended is not None or _OF_VERSIONS.fullmatch(outcome.crash.type) is None:
            return failure
        hint = "\n".join(filter(None, [failure.hint, _MAKES.format(*self._pinned)]))
        return replace(failure, hint=hint, command=self._pinned[1])

    def _with_given(self, failure: Failure) -> Failure:
        """A failure for lack of a connector whose jar is there: it has no tables."""
        given = {f"--connector {one.partition(':')[0]}" for one in self._load.jars.connectors}
        return replace(failure, hint=_NO_TABLES, option=None) if failure.option in given else failure

    def _behind_last_job(self, failure: Failure | None, outcome: JvmOutcome) -> tuple[str, ...]:
        """The note on a program that fails when its jobs are submitted, as it would with PyFlink; empty for others.

        The same holds if it uses something that this version's PyFlink lacks, or executes an empty environment: up to that line
        it runs as in reality.
        """
        if failure is None or not outcome.jobs or not isinstance(self._program, PyFlinkProgram):
            return ()
        _, lacks = advice_on(failure.message, minor_version(self._setup.flink.version))
        lacks = _LEAVE_AWAY if _NOTHING_LEFT in failure.message else lacks
        if lacks is None and _OF_NONE in failure.message and _WAITED.search(self._line_of(failure)):
            lacks = _GIVES_NONE
        if lacks is None or outcome.crash is None or outcome.crash.refused:
            return ()
        where = "" if failure.source is None else f" at {failure.source}"
        return (f"The program fails{where}, when its jobs are submitted. {lacks}",)

    def _line_of(self, failure: Failure) -> str:
        """The text of the line at which a program failed, where that is in its own file."""
        own = failure.source is not None and failure.source.file == self._given.argument
        return linecache.getline(self._given.path, failure.source.line) if own and failure.source is not None else ""

    def _assuming(self, plan: Plan | Refused) -> Plan | Refused:
        """A plan, with what stood in for what the program lacked."""
        return replace(plan, assumed=(*plan.assumed, *self._assumed)) if isinstance(plan, Plan) else plan

    def end(self) -> None:
        """End it without waiting for its results; does nothing if it has finished."""
        if not self._ended:
            self._ended = True
            self._building.jvm.end()

    def _outcome(self) -> JvmOutcome:
        """What came of the program. What fails behind others in a JVM may do so because of them: it is tried in a new one."""
        outcome = self._building.outcome()
        if self._building.number > 1 and (outcome is None or self._is_doubtful(outcome)):
            self._build_again(self._jvms.start(self._setup))
            outcome = self._building.outcome()
        assert outcome is not None
        return self._outcome() if self._adopt(outcome) or self._stood_in(outcome) else outcome

    def _stood_in(self, outcome: JvmOutcome) -> bool:
        """Have the program built with something in place of what it lacks, where that changes neither ids nor states."""
        found = stand_in(self._program, outcome) if isinstance(self._program, JarProgram) else None
        if found is None:
            return False
        self._program = found.program
        self._notes = (*self._notes, found.note)
        self._assumed = (*self._assumed, *found.assumed)
        self._build_again(self._jvms.start(self._setup))
        return True

    def _adopt(self, outcome: JvmOutcome) -> bool:
        """Have the program built with a part of Flink's distribution, or a connector, that it lacks, where that is fetched."""
        flink = self._setup.flink
        name = lacked(outcome, self._program, flink.fetched)
        if name is None or name in self._adopted or (found := adopted(name, self._program, flink.version)) is None:
            return False
        self._adopted.add(name)
        self._notes = (*self._notes, found.note)
        self._assumed = (*self._assumed, *found.assumed)
        self._setup = Setup(replace(flink, jars=(*flink.jars, *found.jars)), self._setup.java, self._setup.options)
        self._build_again(self._jvms.start(self._setup))
        return True

    def _build_again(self, jvm: JvmProcess) -> None:
        """Have the program built in another JVM, with all that was asked of it."""
        self._building = jvm.build(self._program)
        for wanted in self._asked:
            self._building.restore(wanted)

    def _is_doubtful(self, outcome: JvmOutcome) -> bool:
        """Whether something failed in another way than the first program of the JVM did."""
        return (
            outcome.crash is not None
            or (len(outcome.restored) < len(self._asked) and not outcome.timed_out)
            or not _unknown(outcome) <= _unknown(self._building.jvm.first)
        )

    def _answers(self, outcome: JvmOutcome) -> tuple[Answers, ...]:
        late = Restored(failure=f"The restore did not end within {self._setup.options.timeout:g} seconds.")
        jobs = [outcome.jobs[one.job].nodes if one.job < len(outcome.jobs) else () for one in self._asked]
        return tuple(
            answers_of(one or late, {node.id: node for node in nodes}, self._setup.flink.note)
            for nodes, one in zip_longest(jobs, outcome.restored)
        )

    def _disagreement(self, error: Disagreement, side: Side | None) -> Failure:
        return Failure(
            rule=Undecidable.INTERNAL_ERROR,
            message=f"This is a bug of compat, not of the program: {error}",
            name=self._given.argument,
            side=side,
            hint="Please report it, with the output of flink info for this job.",
        )


def begin(given: Input, load: LoadOptions, jvms: WarmJvms, side: Side | None = None) -> FlinkLoading:
    """Start to build an input with Flink's classes, in one of these JVMs. Raises InputError if that is impossible."""
    said, other = "", None
    try:
        if find_spec("jpype") is None:
            what = "Programs that use the Table API" if given.kind is InputKind.PROGRAM else "Jobs in Java and SQL"
            raise JvmError(f"{what} are built by Flink in a JVM, which needs jpype1.", _EXTRA)
        if given.kind is InputKind.PROGRAM:
            pyflink, said = choose(given, load)
            program: Program = PyFlinkProgram(
                path=given.path,
                python=pyflink.python,
                arguments=given.arguments,
                pyfiles=pyfiles_of(given, load),
                environment=dict(load.environment),
                root=given.root,
                folder=given.folder,
                taken_from=given.taken_from,
                runtime_properties=given_properties(load),
                strict_imports=load.strict_imports,
            )
            flink = flink_of(pyflink, places_of(load.jars))
            other = unlike_pin(load, flink.version)
        else:
            program = _program(given, load)
            flink = find_flink(places_of(load.jars))
            if isinstance(program, JarProgram) and load.jars.runtime_properties is not None:
                properties = folder_for(load.jars.runtime_properties)
                program = replace(program, before=str(properties))
                flink = replace(flink, jars=(properties, *flink.jars, *library_for(given.path)))
        jars, of_others = connector_jars(load.jars.connectors, flink.version)
        flink = replace(flink, jars=(*jars, *flink.jars))
        java = find_java()
    except JvmError as error:
        raise InputError(_with_release(refused(error, given.argument, side), given)) from error
    options = dict(load.options)
    if given.kind is InputKind.PROGRAM and flink.configuration is None:
        options = {PARALLELISM: str(DEFAULT_PARALLELISM), **options}  # as without a JVM
    notes = (said, "" if other is None else _MAKES.format(*other), *of_others)
    settings = JvmOptions(options=options, call_open=load.call_open, timeout=load.timeout)
    return FlinkLoading(
        given,
        program,
        Setup(flink, java, settings),
        jvms,
        tuple(filter(None, notes)),
        load,
    )


def _with_release(failure: Failure, given: Input) -> Failure:
    """A failure for lack of Flink, with the release that the build of the job names in place of any."""
    found = release_of(given.path, given.root or None) if failure.option == FETCHES else None
    if found is None or parsed(found[0]) < OLDEST:
        return failure
    release, file = found
    option = f"--flink-version {release}"
    told = f"{file} names Flink {release}."
    return replace(failure, hint=f"{told}\n{(failure.hint or '').replace(FETCHES, option)}", option=option)


def places_of(jars: FlinkJars) -> FlinkPlaces:
    """The location of Flink's jars, from a command's options."""
    return FlinkPlaces(classpath=jars.classpath, home=jars.home, version=jars.version)


def _program(given: Input, load: LoadOptions) -> Program:
    """The program behind a jar or a script. Raises JvmError for a file that cannot be read."""
    if given.kind is InputKind.JAR:
        program = JarProgram(
            path=given.path,
            main_class=load.jars.main_class,
            arguments=given.arguments,
            environment=dict(load.environment),
        )
        check_jar(program)
        return program
    try:
        with open(given.path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise JvmError(f"{given.argument} cannot be read: {error}.") from error
    if given.kind is InputKind.SQL:
        return SqlScript(path=given.path, text=text)
    return CompiledPlan(path=given.path, text=text)


def _unknown(outcome: JvmOutcome | None) -> set[str]:
    """The reasons why states could not be told."""
    return set() if outcome is None else {node.states.unknown for job in outcome.jobs for node in job.nodes} - {""}
