"""The arguments that name a job or a snapshot, and the plans behind them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from compat.compiler.versions import LATEST_FLINK
from compat.loader import late
from compat.loader.advice import REPORT, advice, command, option, report_of, without_job
from compat.loader.failure import SAID, Failure, Side, Undecidable
from compat.loader.flink_version import pin_of
from compat.loader.former import gone, lacks, needed
from compat.loader.late import MOST_SECONDS
from compat.loader.process import DEFAULT_TIMEOUT, Outcome, TimedOut, load_one
from compat.loader.request import Crash, Loaded, Request, clipped
from compat.loader.told_by_project import with_project
from compat.plan.reading import LARGEST, PlanError, read
from compat.state.model.job import Plan, Refused
from compat.state.model.source_line import SourceLine
from compat.state.safe_open import open_regular, why_not_regular
from compat.state.stores.schemes import is_remote

if TYPE_CHECKING:
    from compat.loader.jvm.loading import FlinkLoading
    from compat.loader.jvm.warm import WarmJvms
    from compat.loader.revisions import Exported


class InputError(Exception):
    """An argument without a plan; carries the :class:`~compat.loader.failure.Failure` to report."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure

    @property
    def line(self) -> str:
        """The failure in one line: the argument, the rule and the message."""
        return f"{self.failure.name}: {self.failure.rule}: {self.failure.message}"

    @property
    def told(self) -> str:
        """The failure, and in a further line what to do about it, where that is known."""
        return "\n".join(filter(None, (self.line, self.failure.hint)))


class InputKind(StrEnum):
    """The kinds of inputs that an argument can name."""

    PROGRAM = "program"
    TOPOLOGY = "topology"
    PLAN = "plan"
    SAVEPOINT = "savepoint"
    JAR = "jar"
    SQL = "sql"
    COMPILED_PLAN = "compiled plan"

    @property
    def built_by_flink(self) -> bool:
        """True for a job that Flink's own classes build, in a JVM."""
        return self in (InputKind.JAR, InputKind.SQL, InputKind.COMPILED_PLAN)


_MOST_FORMER = 5
"""The most ended jobs that the report names."""
_A_JAR = "Build the job, and give its jar."
_NO_PROGRAM = {
    ".log": "compat diagnose reads logs, and says why a restore failed.",
    ".out": "compat diagnose reads the output of a cluster, and says why a restore failed.",
    ".txt": None,
    ".md": None,
    ".java": _A_JAR,
    ".scala": _A_JAR,
    ".kt": _A_JAR,
    ".class": _A_JAR,
    ".ipynb": "Write its cells to a program, and give that.",
}
"""File extensions of inputs that are not programs, each with advice, None if there is none."""
_INSTEAD = {".log": "compat diagnose", ".out": "compat diagnose", ".ipynb": "jupyter nbconvert --to script"}
"""The commands for that advice."""
_BY_ENDING = {".jar": InputKind.JAR, ".sql": InputKind.SQL}


class FlinkJars(Struct, frozen=True, kw_only=True):
    """Where Flink's classes come from, for jobs that they build, and the class of a jar to run.

    ``classpath`` holds jars, folders and ``DIR/*``, ``connectors`` the names of connectors to download. ``home`` is an
    installation of Flink, ``version`` one to download. ``pyflink`` is a Python that has PyFlink, for programs that need
    it, if this one has not. ``runtime_properties`` is the file that AWS gives to a job in its Managed Service for
    Apache Flink.
    """

    classpath: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    home: str | None = None
    version: str | None = None
    main_class: str | None = None
    pyflink: str | None = None
    runtime_properties: str | None = None

    def over(self, base: FlinkJars) -> FlinkJars:
        """These, with missing fields from ``base``. If they name a Flink, ``base`` does not override it.

        A class path alone need not have a Flink; if it has, that one is taken, whatever else is given (`find_flink`).
        """
        own = bool(self.home or self.version)
        return replace(
            self if own else base,
            classpath=self.classpath if own else self.classpath or base.classpath,
            connectors=self.connectors or base.connectors,
            main_class=self.main_class or base.main_class,
            pyflink=self.pyflink or base.pyflink,
            runtime_properties=self.runtime_properties or base.runtime_properties,
        )


class Limit(Struct, frozen=True, kw_only=True):
    """How much of a savepoint's real state a rehearsal restores: this many bytes of state files, or entries."""

    size: int | None = None
    entries: int | None = None


class LoadOptions(Struct, frozen=True, kw_only=True):
    """How to load programs: options of ``-D``, the version of Flink, the time limit, and whether to call open().
    ``flink_assumed`` marks a version that was not given; ``flink_because`` says why it differs from the default, and
    ``flink_pin`` what the project pins.
    ``jars`` is for jobs that Flink's own classes build. ``exact`` has PyFlink itself build every program in Python too.
    ``pyfiles`` are modules, folders and archives that programs in Python import from, as absolute paths, and ``environment``
    variables that programs in Python and jars get; with ``strict_imports`` a module that is not installed is a failure.
    ``watched`` is the root of a project, for which the used files are recorded.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    flink: str = LATEST_FLINK
    flink_assumed: bool = False
    flink_because: str = ""
    flink_pin: str = ""
    timeout: float = DEFAULT_TIMEOUT
    call_open: bool = True
    jars: FlinkJars = field(default_factory=FlinkJars)
    exact: bool = False
    pyfiles: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    strict_imports: bool = False
    watched: str = ""

    @classmethod
    def given(
        cls,
        options: Mapping[str, str],
        *,
        flink: str | None = None,
        timeout: float | None = None,
        no_open: bool | None = None,
        jars: FlinkJars | None = None,
        exact: bool | None = None,
        pyfiles: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        strict_imports: bool | None = None,
    ) -> LoadOptions:
        """The one builder: arguments that are not given (None) get the defaults above."""
        return cls(
            options=dict(options),
            flink=flink or LATEST_FLINK,
            flink_assumed=flink is None,
            timeout=min(timeout or DEFAULT_TIMEOUT, MOST_SECONDS),
            call_open=not no_open,
            jars=jars or FlinkJars(),
            exact=bool(exact),
            pyfiles=tuple(os.path.abspath(path) for path in pyfiles or ()),
            environment=dict(environment or {}),
            strict_imports=bool(strict_imports),
        )


class Input(Struct, frozen=True):
    """A named input: the user's argument, the file behind it, and its kind.

    An input from a revision has its project in ``root``, which is shown as ``root_shown``; ``folder`` corresponds to
    the working directory there, and ``taken_from`` is the original working tree.
    """

    argument: str
    path: str
    kind: InputKind
    root: str = ""
    root_shown: str = ""
    folder: str = ""
    taken_from: str = ""
    arguments: tuple[str, ...] = ()


def is_running(argument: str) -> bool:
    """True for an argument that names a job of a cluster: ``flink:URL`` or ``k8s:NAMESPACE/NAME``."""
    return argument.startswith(("flink:", "k8s:"))


@contextmanager
def opened(argument: str, arguments: tuple[str, ...] = (), side: Side | None = None) -> Iterator[Input]:
    """The input behind an argument, as long as the context lasts. Raises InputError for anything else."""
    if argument.startswith("git:"):
        with _taken_out(argument, arguments, side) as given:
            yield given
    elif (plan := _plan_of_snapshot(argument)) is not None:
        yield Input(argument, plan, InputKind.PLAN)
    elif is_remote(argument) and (data := _plan_elsewhere(argument)) is not None:
        with _copied(data) as copy:
            yield Input(argument, copy, InputKind.PLAN)
    elif _is_savepoint(argument):
        yield Input(argument, argument, InputKind.SAVEPOINT)
    elif (wrong := _no_input(argument)) is not None:
        message, hint = wrong
        instead = _INSTEAD.get(os.path.splitext(argument)[1].lower()) if os.path.isfile(argument) else None
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=message,
                name=argument,
                side=side,
                hint=hint,
                command=None if instead is None else f"{instead} {shlex.quote(argument)}",
            )
        )
    else:
        yield Input(argument, os.path.abspath(argument), _kind(argument, argument, side), arguments=arguments)


@contextmanager
def _taken_out(argument: str, arguments: tuple[str, ...], side: Side | None) -> Iterator[Input]:
    """The program of a revision, with its project, in a folder of its own. Raises InputError."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        taken = _from_git(argument, folder, side)
        yield Input(
            argument,
            taken.path,
            _kind(argument, taken.path, side),
            root=os.path.realpath(folder),
            root_shown=f"git:{taken.reference}:",
            folder=taken.folder,
            taken_from=taken.taken_from,
            arguments=arguments,
        )


@contextmanager
def _copied(plan: bytes) -> Iterator[str]:
    """A file with a plan that lies on other storage."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        copy = os.path.join(folder, "plan.json")
        with open(copy, "wb") as file:
            file.write(plan)
        yield copy


def _no_input(argument: str) -> tuple[str, str | None] | None:
    """Why an argument names no file that could be an input, and what to do; None if it does."""
    if is_running(argument):
        usage = "Write compat check flink:http://HOST:8081/NAME new.jar, or compat inspect flink:http://HOST:8081/NAME."
        return f"{argument!r} is a running job, which can only be OLD.", usage
    if not os.path.exists(argument):
        return f"There is no file {argument!r}.", None
    if os.path.isdir(argument):
        usage = (
            "Name a program (job.py), a topology file (job.json), a plan, or the folder of one savepoint; --savepoints "
        )
        return (
            f"{argument!r} is a folder but not a savepoint: it has no file _metadata.",
            f"{usage}checks all savepoints below a folder.",
        )
    if (strange := why_not_regular(argument)) is not None:
        return f"{argument!r} is {strange}, not a file.", "Write its output to a file, and give that."
    ending = os.path.splitext(argument)[1].lower()
    if ending in _NO_PROGRAM:
        named = "Name a program (job.py), a jar, a script of SQL, a topology file (job.json), a plan or a savepoint."
        return f"{argument!r} is no program: its name ends in {ending}.", _NO_PROGRAM[ending] or named
    return None


def request_for(given: Input, load: LoadOptions) -> Request:
    """The request to a child process that loads a program or a topology file."""
    return Request(
        path=given.path,
        shown=given.argument,
        root=given.root,
        root_shown=given.root_shown,
        folder=given.folder,
        taken_from=given.taken_from,
        pyfiles=pyfiles_of(given, load),
        environment=dict(load.environment),
        strict_imports=load.strict_imports,
        arguments=given.arguments,
        options=dict(load.options),
        flink=load.flink,
        call_open=load.call_open,
        topology=given.kind is InputKind.TOPOLOGY,
        watched="" if given.root else load.watched,
        runtime_properties=given_properties(load),
    )


def given_properties(load: LoadOptions) -> str:
    """The properties file in place of AWS's service, as an absolute path; empty for none."""
    return os.path.abspath(load.jars.runtime_properties) if load.jars.runtime_properties else ""


def pyfiles_of(given: Input, load: LoadOptions) -> tuple[str, ...]:
    """The import paths of a program; for a program of a revision, their versions at that revision."""
    if not given.taken_from:
        return load.pyfiles
    before = given.taken_from + os.sep
    moved = (
        os.path.join(given.root, path.removeprefix(before)) if path.startswith(before) else path
        for path in load.pyfiles
    )
    return tuple(path for path in moved if os.path.exists(path))


def plans_of(given: Input, outcome: Outcome, side: Side | None = None) -> tuple[Plan | Refused, ...]:
    """The plans from loading a program. Raises InputError if it failed, took too long or submitted nothing."""
    if isinstance(outcome, TimedOut):
        frame = outcome.frame
        where = "" if frame is None else f" It was at {frame.file}:{frame.line}, in {frame.function}."
        hint, more = late.advice(outcome.seconds, outcome.waits)
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_TIMEOUT,
                message=f"The program did not end within {outcome.seconds:g} seconds.{where}",
                name=given.argument,
                side=side,
                source=None if frame is None else SourceLine(frame.file, frame.line),
                hint=hint,
                option=more,
            )
        )
    if outcome.crash is not None:
        raise InputError(_crashed(given, outcome.crash, side))
    if not outcome.plans:
        last = outcome.said.splitlines()[-1] if outcome.said else ""
        raise InputError(
            Failure(
                rule=Undecidable.NO_JOB,
                message="The program submits no job." + (f" The last that it says: {last}" if last else ""),
                name=given.argument,
                side=side,
                hint=without_job(
                    last,
                    "Call env.execute(), also when the file is not run from a shell: arguments follow --args, or stand in the "
                    "settings as args of [[tool.compat.job]].",
                ),
            )
        )
    return outcome.plans


def made_by(
    given: Input, outcome: Outcome, options: LoadOptions, side: Side | None = None
) -> tuple[Plan | Refused, ...]:
    """The plans from loading, if the Flink version has what they use; an assumed version is replaced by one that has.

    Raises InputError, with that version, or as :func:`plans_of` does.
    """
    plans = plans_of(given, outcome, side)
    found = next((one for plan in plans for one in gone(plan, options.flink)), None) if options.flink_assumed else None
    if found is None:
        return of_version(plans, options)
    former, source = found
    raise InputError(
        Failure(
            rule=Undecidable.PROGRAM_FAILED,
            message=str(former),
            name=given.argument,
            side=side,
            source=source,
            flink=former.had_by,
        )
    )


def of_version(plans: tuple[Plan | Refused, ...], options: LoadOptions) -> tuple[Plan | Refused, ...]:
    """The plans of a Python program or a topology, marked with whether their version was given."""
    return tuple(replace(plan, flink_assumed=True) for plan in plans) if options.flink_assumed else plans


def read_plan(given: Input, side: Side | None = None) -> Plan | Refused:
    """The plan snapshot in a file. Raises InputError."""
    try:
        with open_regular(given.path) as file:
            plan = read(file.read(LARGEST + 1))
    except OSError as error:
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=f"The plan cannot be read: {error}.",
                name=given.argument,
                side=side,
            )
        ) from error
    except PlanError as error:
        raise InputError(
            Failure(rule=Undecidable.PROGRAM_FAILED, message=str(error), name=given.argument, side=side)
        ) from error
    if isinstance(plan, Plan) and is_snapshot(given):
        from compat.loader.sizes import with_sizes

        folder, epoch = _folder_of_snapshot(given.argument)
        return with_sizes(plan, folder, epoch)
    return plan


def is_snapshot(given: Input) -> bool:
    """True for a snapshot of a job on Spark, whose plan is read with the sizes of its states."""
    if is_remote(given.argument):
        return given.kind is InputKind.PLAN
    return _plan_of_snapshot(given.argument) == given.path


def following(given: Input, options: LoadOptions) -> LoadOptions:
    """The options for a program, with the version of Flink that its project pins if none was given."""
    if (
        given.kind is not InputKind.PROGRAM
        or not options.flink_assumed
        or (pin := pin_of(given.path, given.root or None)) is None
    ):
        return options
    because = "" if pin.flink == LATEST_FLINK else f"Judged as Flink {pin.flink}: {pin}."
    return replace(options, flink=pin.flink, flink_assumed=False, flink_because=because, flink_pin=str(pin))


def following_api(failure: Failure, options: LoadOptions) -> LoadOptions | None:
    """The options for a program that failed because it needs another PyFlink version; None if it failed for another reason."""
    if failure.flink is None or not options.flink_assumed:
        return None
    where = "" if failure.source is None else f" ({failure.source})"
    because = f"Judged as Flink {failure.flink}: PyFlink {options.flink} lacks what a program uses{where}."
    return replace(options, flink=failure.flink, flink_assumed=False, flink_because=because)


def load(
    given: Input,
    options: LoadOptions,
    side: Side | None = None,
    notes: list[str] | None = None,
    jvms: WarmJvms | None = None,
) -> tuple[Plan | Refused, ...]:
    """The plans of an input, one for each job, with the version of Flink that its project pins or its API needs.

    Raises InputError, also for a savepoint, which has no graphs. ``notes`` receives further remarks; ``jvms`` are for callers
    that load several programs.
    """
    options = following(given, options)
    try:
        plans = _loaded(given, options, side, notes, jvms)
    except InputError as error:
        other = following_api(error.failure, options)
        if other is None:
            raise
        options, plans = other, _loaded(given, other, side, notes, jvms)
    if notes is not None and options.flink_because:
        notes.append(options.flink_because)
    return plans


def built_here(given: Input, options: LoadOptions) -> tuple[LoadOptions, Outcome]:
    """The result of building a Python program without a JVM, and the options with the version that its project pins or
    its API needs.

    Raises InputError if it has no plans, unless it needs PyFlink itself.
    """
    options = following(given, options)
    while True:
        outcome = load_one(request_for(given, options), timeout=options.timeout)
        try:
            if not needs_pyflink(outcome, options):
                made_by(given, outcome, options)
            return options, outcome
        except InputError as error:
            other = following_api(error.failure, options)
            if other is None:
                raise
            options = other


def _loaded(
    given: Input, options: LoadOptions, side: Side | None, notes: list[str] | None, jvms: WarmJvms | None
) -> tuple[Plan | Refused, ...]:
    if given.kind is InputKind.SAVEPOINT:
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=f"{given.argument!r} is a savepoint, which has no graphs.",
                name=given.argument,
                side=side,
                hint="compat inspect shows its contents, compat check SAVEPOINT new.py whether a program restores it.",
            )
        )
    if given.kind is InputKind.PLAN:
        return (read_plan(given, side),)
    if given.kind.built_by_flink:
        return _built_by_flink(given, options, side, notes, jvms)
    outcome = load_one(request_for(given, options), timeout=options.timeout)
    if given.kind is not InputKind.PROGRAM or not needs_pyflink(outcome, options):
        plans = made_by(given, outcome, options, side)
        if notes is not None:
            notes += notes_of(given, outcome)
        return plans
    from compat.loader.jvm.pyflink.proof import proved

    return of_version(
        proved(given, outcome, _built_by_flink(given, options, side, notes, jvms, outcome), side), options
    )


def _built_by_flink(
    given: Input,
    options: LoadOptions,
    side: Side | None,
    notes: list[str] | None,
    jvms: WarmJvms | None,
    outcome: Outcome | None = None,
) -> tuple[Plan | Refused, ...]:
    """The plans that Flink itself makes; ``outcome`` is what came of a program in Python without it."""
    from compat.loader.jvm.loading import begin
    from compat.loader.jvm.warm import WarmJvms

    with ExitStack() as stack:
        jvms = jvms or stack.enter_context(WarmJvms())
        if outcome is None:
            loading = begin(given, options, jvms, side)
        else:
            loading = begin_with_pyflink(given, outcome, options, jvms, side)
        made = loading.finish(side)
    if notes is not None:
        notes += made.notes
    return made.plans


def begin_with_pyflink(
    given: Input, outcome: Outcome, options: LoadOptions, jvms: WarmJvms, side: Side | None = None
) -> FlinkLoading:
    """Start a Python program that PyFlink itself has to build.

    Raises InputError, with the line that asked for PyFlink, or first with the version that has the names it uses.
    """
    from compat.loader.jvm.loading import begin
    from compat.loader.jvm.pyflink.choosing import may_be_of

    found = outcome.former if isinstance(outcome, Loaded) else ()
    use = needed(found, options.flink) if options.flink_assumed else None
    if use is not None and use.former.had_by is not None and may_be_of(use.former.had_by, options):
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=str(use.former),
                name=given.argument,
                side=side,
                source=SourceLine(given.argument, use.line),
                flink=use.former.had_by,
            )
        )
    try:
        return begin(given, options, jvms, side)
    except InputError as error:
        raise InputError(_telling_where(error.failure, outcome, options)) from error


def notes_of(given: Input, outcome: Outcome) -> tuple[str, ...]:
    """The notes on a program that gave its plans."""
    if not isinstance(outcome, Loaded):
        return ()
    return (*note_on_absent(given, outcome.absent), *note_on_endless(outcome.endless))


def note_on_endless(line: str) -> tuple[str, ...]:
    """The note on a program that waits at a line until its job ends; none for other programs."""
    return (f"The program waits at {line} until its job ends; what comes behind that is not judged.",) if line else ()


def note_on_absent(given: Input, names: Sequence[str]) -> tuple[str, ...]:
    """The note on modules that a program imports and that are not installed."""
    if not names:
        return ()
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    are = "is" if len(names) == 1 else "are"
    them = "it" if len(names) == 1 else "them"
    return (f"{given.argument} imports {listed}, which {are} not installed: building the job did not need {them}.",)


def needs_pyflink(outcome: Outcome, options: LoadOptions) -> bool:
    """True for a Python program that PyFlink itself has to build: it needs more than compat has, or an exact proof was
    asked for.
    """
    return (isinstance(outcome, Loaded) and outcome.needs_pyflink is not None) or options.exact


def _telling_where(failure: Failure, outcome: Outcome, options: LoadOptions) -> Failure:
    """Why PyFlink could not build a program, with the line that asked for PyFlink, and those that no PyFlink builds."""
    if not isinstance(outcome, Loaded) or outcome.needs_pyflink is None:
        return failure
    asked = outcome.needs_pyflink
    last = asked.frames[-1] if asked.frames else None
    ended = {str(use.former): use.line for use in reversed(outcome.former) if lacks(options.flink, use.former)}
    told = [f"{failure.name}:{line}: {former}" for former, line in sorted(ended.items(), key=lambda one: one[1])]
    return replace(
        failure,
        source=None if last is None else SourceLine(last.file, last.line),
        traceback="\n".join([*_frames(asked), asked.message]),
        hint="\n".join(filter(None, [*told[:_MOST_FORMER], failure.hint])) or None,
    )


def _crashed(given: Input, crash: Crash, side: Side | None) -> Failure:
    told = clipped(crash.message)
    lines = _frames(crash)
    if crash.fault:
        return Failure(
            rule=Undecidable.INTERNAL_ERROR,
            message=f"compat itself failed: {crash.type}: {told}",
            name=given.argument,
            side=side,
            traceback=report_of(lines, crash.type),
            hint=REPORT,
        )
    lines.append(f"{crash.type}: {told}")
    if crash.said:
        lines += [SAID, *(f"  {line}" for line in crash.said.splitlines())]
    last = crash.frames[-1] if crash.frames else None
    failure = Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message=f"The program failed: {crash.type}: {told}",
        name=given.argument,
        side=side,
        source=None if last is None else SourceLine(last.file, last.line),
        traceback="\n".join(lines),
        hint=advice(crash, side),
        option=option(crash.lacks, side),
        command=command(crash.lacks),
        flink=crash.flink,
    )
    return with_project(failure, crash.lacks, (), given.path, given.root or None)


def _frames(crash: Crash) -> list[str]:
    lines = []
    for frame in crash.frames:
        lines += [f'  File "{frame.file}", line {frame.line}, in {frame.function}']
        lines += [f"    {frame.text.strip()}"] if frame.text else []
    return lines


def _plan_of_snapshot(argument: str) -> str | None:
    """The plan in a savepoint that ``compat`` wrote, or beside a job's checkpoints; None for anything else."""
    folder, _ = _folder_of_snapshot(argument.removeprefix("file://"))
    plan = os.path.join(folder, "plan.json")
    logs = (os.path.join(folder, "_delta_log"), os.path.join(folder, "state", "_delta_log"))
    return plan if os.path.isfile(plan) and any(os.path.isdir(log) for log in logs) else None


def _folder_of_snapshot(argument: str) -> tuple[str, int | None]:
    """The folder of a snapshot of a job on Spark, and the epoch that is meant where one is named."""
    path, at, epoch = argument.rpartition("@")
    path, number = (path, int(epoch)) if at and epoch.isdigit() else (argument, None)
    return (os.path.dirname(path) if os.path.basename(path) in ("state", "_savepoint.json") else path), number


def _plan_elsewhere(argument: str) -> bytes | None:
    """The plan of a snapshot on another storage; None for anything else, and where the storage cannot be reached."""
    from compat.state.delta.errors import StoreError
    from compat.state.stores.paths import place_of

    folder, _ = _folder_of_snapshot(argument.rstrip("/"))
    try:
        return (place_of(folder) / "plan.json").read()
    except (OSError, StoreError):
        return None


def _is_savepoint(argument: str) -> bool:
    """True for a folder with Flink's metadata, or with a job's checkpoints, the metadata itself, and all on other storage."""
    if is_running(argument):
        return False
    if argument.startswith("file:") or "://" in argument or os.path.basename(argument) == "_metadata":
        return True
    if not os.path.isdir(argument):
        return False
    from compat.state.flink.metadata import metadata_in

    try:
        return metadata_in(argument) is not None
    except OSError:
        return False


def _kind(argument: str, path: str, side: Side | None) -> InputKind:
    ending = os.path.splitext(argument)[1].lower()
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if ending != ".json":
        return InputKind.PROGRAM
    try:
        with open_regular(path) as file:
            head = file.read(4096).decode("utf-8", "ignore" if file.read(1) else "strict")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=f"{argument!r} cannot be read: {error}.",
                name=argument,
                side=side,
            )
        ) from error
    if '"flinkVersion"' in head and '"nodes"' in head:
        return InputKind.COMPILED_PLAN
    return InputKind.PLAN if '"format"' in head and '"ops"' not in head else InputKind.TOPOLOGY


def _from_git(argument: str, folder: str, side: Side | None) -> Exported:
    """The program of a revision, taken out into a folder with its project. Raises InputError."""
    from compat.loader.revisions import NoRevision, export

    try:
        return export(argument, folder)
    except NoRevision as error:
        raise InputError(
            Failure(
                rule=Undecidable.PROGRAM_FAILED,
                message=str(error),
                name=argument,
                side=side,
                hint="Write git:REF:path/to/job.py.",
            )
        ) from error


__all__ = [
    "Input",
    "InputError",
    "LoadOptions",
    "Loaded",
    "load",
    "opened",
    "plans_of",
    "read_plan",
    "request_for",
]
