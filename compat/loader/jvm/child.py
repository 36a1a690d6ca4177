"""The child process: holds one JVM, builds programs in it, restores state into them, and writes the results.

A program's output is discarded. A program may end its process at any time: results written until then count. A child
without its parent ends, with everything that it started.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import IO

import jpype
import msgspec

from compat.loader.descendants import end_all_below, keep_orphans
from compat.loader.jvm.bridge import Java, array_of, described, flink, java, user_frames
from compat.loader.jvm.call_sites import Places
from compat.loader.jvm.capture import take_jobs
from compat.loader.jvm.converting import Converters
from compat.loader.jvm.environments import Environments
from compat.loader.jvm.harness import OperatorFailed
from compat.loader.jvm.jobs import NoStreamGraph, build_job
from compat.loader.jvm.keyed_forms import write_keyed
from compat.loader.jvm.libraries import own_frames
from compat.loader.jvm.messages import (
    PRINTED,
    Build,
    Command,
    Convert,
    Converted,
    Crash,
    Ended,
    JarProgram,
    JavaFrame,
    Message,
    Program,
    PyFlinkProgram,
    Request,
    Restore,
    Restored,
    SqlScript,
    Stuck,
    Submitted,
    WriteKeyed,
    Wrote,
)
from compat.loader.jvm.node_numbers import restart_numbers_of_tables
from compat.loader.jvm.patience import FairClock, kept_from_work
from compat.loader.jvm.program import call_of, crash_of, packaged
from compat.loader.jvm.pyflink.gateway import Gateway
from compat.loader.jvm.restore import Built, restore
from compat.loader.jvm.scala_api import offer_scala
from compat.loader.jvm.sql import Session, StatementFailed, modes_of
from compat.loader.jvm.variables import Variables
from compat.state.flink.errors import SavepointError
from compat.state.flink.metadata import METADATA_FILE, parse_metadata
from compat.state.flink.remote import read_savepoint
from compat.state.flink.savepoint import Savepoint

_ENCODER = msgspec.json.Encoder()
_TICK = 0.05
"""How many seconds pass at least before it is looked again whether the time of a program is up."""
_DECODER: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)


class _Out:
    """Where messages go: a line of JSON each."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, message: Message) -> None:
        data = _ENCODER.encode(message) + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


class _Taker:
    """Builds each job that a program submits and writes it; a job that Flink refuses raises in the program."""

    def __init__(self, request: Request, out: _Out, places: Places, variables: Variables) -> None:
        self._places = places
        self._variables = variables
        self.session: Session | None = None
        self.gateway: Gateway | None = None
        self.built: list[Built] = []
        self.refusals: list[Crash] = []
        self._request = request
        self._out = out

    def __call__(self, pipeline: Java, loader: Java) -> None:
        loader = loader if self.session is None else self.session.loader
        try:
            job, built = build_job(pipeline, self._request, loader, self._places)
            if self.session is not None:
                job = msgspec.structs.replace(job, exec_plan=self.session.plan(), statements=self.session.statements)
            elif self.gateway is not None:
                job = self.gateway.completed(job, built.operators, loader)
            job = msgspec.structs.replace(job, variables=tuple(sorted(self._variables.read)))
            self.built.append(built)
            self._out.write(Submitted(job=job))
        except jpype.JException as error:
            crash = crash_of(error, None, self._request.flink)
            self.refusals.append(msgspec.structs.replace(crash, refused=True))
            raise
        except NoStreamGraph as error:
            kind = str(error)
            hint = "Only streaming jobs keep state in savepoints."
            self.refusals.append(
                Crash(type="NoStreamGraph", message=f"The job is not a streaming job: {kind}.", hint=hint)
            )
            raise java("java.lang.UnsupportedOperationException")(kind) from error
        except Exception as error:
            said = _unexpected(error, self._request.flink)
            self.refusals.append(Crash(type=type(error).__name__, message=said))
            raise


def _unexpected(error: Exception, version: str) -> str:
    """A part of Flink that is not what it was in the versions that are known here."""
    lines = traceback.format_exception(error)
    return f"Flink {version} does not answer as expected: {lines[-1].strip()} ({lines[-2].strip()})"


def start_jvm(request: Request) -> None:
    """Start the JVM of this process."""
    jpype.startJVM(
        request.java_library,
        *request.jvm_options,
        classpath=list(request.classpath),
        convertStrings=False,
        ignoreUnrecognized=True,
    )


def with_configuration(request: Request) -> Request:
    """The request with the settings of Flink's installation under its own options, as with ``flink run``."""
    if not request.configuration:
        return request
    read = flink("configuration.GlobalConfiguration").loadConfiguration(request.configuration).toMap()
    settings = {str(key): str(value) for key, value in read.items()}
    return msgspec.structs.replace(request, options={**settings, **request.options})


class _Commands:
    """The tasks that the parent sends, in order; a parent that is gone before all are done ends this process."""

    def __init__(self, sent: IO[bytes]) -> None:
        self._waiting: SimpleQueue[Command | None] = SimpleQueue()
        self._open = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._take, args=(sent,), daemon=True).start()

    def next(self) -> Command | None:
        """Wait for the next task; None at the end."""
        return self._waiting.get()

    def done(self) -> None:
        """A task is done: its answer is about to be written."""
        with self._lock:
            self._open -= 1

    def _take(self, sent: IO[bytes]) -> None:
        for line in sent:
            with self._lock:
                self._open += 1
            self._waiting.put(_DECODER.decode(line))
        with self._lock:
            if self._open:
                os.killpg(0, signal.SIGKILL)
        self._waiting.put(None)


class _Workplace:
    """The JVM of this process as a program finds it: as if it were the first."""

    def __init__(self, request: Request) -> None:
        start_jvm(request)
        self.request = with_configuration(request)
        self.environments = Environments()
        self.variables = Variables()
        self.places = Places()
        self.environments.tell(self.places.note)
        self._gateway: Gateway | None = None
        self._properties = java("java.lang.System").getProperties().clone()
        self._locale = java("java.util.Locale").getDefault()
        self._time_zone = java("java.util.TimeZone").getDefault()

    def tidy(self, program: Program) -> None:
        """Take back what the program before may have set for the whole JVM, and give the next one its variables."""
        self.variables.give(program.environment if isinstance(program, JarProgram) else {})
        java("java.lang.System").setProperties(self._properties.clone())
        java("java.util.Locale").setDefault(self._locale)
        java("java.util.TimeZone").setDefault(self._time_zone)
        restart_numbers_of_tables()
        self.places.forget()

    def gateway(self) -> Gateway:
        """The gateway of PyFlink; the threads that serve it find the user's classes."""
        if self._gateway is None:
            java("java.lang.Thread").currentThread().setContextClassLoader(_user_loader(self.request))
            self._gateway = Gateway(self.request)
        return self._gateway


def _workplace(request: Request) -> _Workplace | Crash:
    try:
        return _Workplace(request)
    except (OSError, RuntimeError, jpype.JException) as error:
        hint = "Set JAVA_HOME to another Java."
        return Crash(type=type(error).__name__, message=f"The JVM does not start: {error}", hint=hint)


def _build(program: Program, place: _Workplace, out: _Out) -> tuple[Ended, list[Built]]:
    """Build a program and write each job that it submits; gives how it ended, and its jobs."""
    place.tidy(program)
    taker = _Taker(place.request, out, place.places, place.variables)
    if isinstance(program, PyFlinkProgram):
        taker.gateway = place.gateway()
        place.places.here = taker.gateway.here
    done = _watch(place.request, out, taker.gateway)
    crash = _crash_of_run(program, taker, place)
    done.set()
    missed = place.variables.missed_by(crash)
    if taker.gateway is None:
        return Ended(crash=crash, missed=missed), taker.built
    gateway = taker.gateway
    ended = Ended(
        crash=crash, missed=gateway.missed, absent=gateway.absent, former=gateway.former, endless=gateway.endless
    )
    return ended, taker.built


def _crash_of_run(program: Program, taker: _Taker, place: _Workplace) -> Crash | None:
    """Run a program; gives how it failed, if it did."""
    request = place.request
    try:
        take_jobs(taker, request.options, place.environments, place.places)
        if isinstance(program, PyFlinkProgram) and taker.gateway is not None:
            crash = taker.gateway.run(program)
            if crash is None and not taker.built:
                crash = taker.gateway.caught(program)
            frames = () if crash is None else crash.frames
            return msgspec.structs.replace(taker.refusals[0], frames=frames) if taker.refusals else crash
        _run_program(program, request, taker)
    except StatementFailed as error:
        refusal = taker.refusals[0] if taker.refusals else error.crash
        return msgspec.structs.replace(refusal, statement=error.crash.statement)
    except jpype.JException as error:
        return taker.refusals[0] if taker.refusals else crash_of(error, program, request.flink, place.variables)
    return taker.refusals[0] if taker.refusals else None


def _run_program(program: Program, request: Request, taker: _Taker) -> None:
    """Run a jar, a script or a plan to its end."""
    thread = java("java.lang.Thread").currentThread()
    if isinstance(program, JarProgram):
        made = packaged(program, request)
        thread.setContextClassLoader(made.getUserCodeClassLoader())
        offer_scala(made.getUserCodeClassLoader())
        made.invokeInteractiveModeForExecution()
        return
    loader = _user_loader(request)
    thread.setContextClassLoader(loader)
    if isinstance(program, PyFlinkProgram):
        return
    if isinstance(program, SqlScript):
        taker.session = Session(request, loader, modes_of(program))
        taker.session.run(program)
    else:
        taker.session = Session(request, loader, {})
        taker.session.run_plan(program)


def _user_loader(request: Request) -> Java:
    """The class loader of a program that comes in no jar."""
    urls = [java("java.io.File")(path).toURI().toURL() for path in request.user_classpath]
    parent = flink("api.common.JobID").class_.getClassLoader()
    return java("java.net.URLClassLoader")(array_of(java("java.net.URL"))(urls), parent)


def _watch(request: Request, out: _Out, gateway: Gateway | None) -> threading.Event:
    """End this process when the time of the program is up, and say where it stands."""
    thread, own = java("java.lang.Thread").currentThread(), (os.getpid(), threading.get_native_id())
    done = threading.Event()

    def kept() -> float:
        others = () if gateway is None or gateway.client is None else ((gateway.client, gateway.client),)
        return sum(kept_from_work(*one) for one in (own, *others))

    def end() -> None:
        trace = list(thread.getStackTrace())
        frames: tuple[JavaFrame, ...] = tuple(user_frames(trace))
        own = own_frames(frames)
        call = call_of(trace, own[0]) if own else ""
        if gateway is not None:
            frames, call = tuple(one for one in (gateway.stuck(),) if one is not None), ""
        out.write(Stuck(frames=frames, call=call))
        end_all_below(os.getpid())
        os._exit(0)

    def watch() -> None:
        clock = FairClock(kept)
        while (left := request.timeout - clock.seconds) > 0:
            if done.wait(max(left, _TICK)):
                return
        end()

    threading.Thread(target=watch, daemon=True).start()
    return done


def _restored(command: Restore, built: list[Built]) -> Restored:
    """Do a restore; gives its answer."""
    if command.job >= len(built):
        return Restored(failure="there is no such job")
    job = built[command.job]
    try:
        return restore(job, _savepoint(command), command.limit, command.samples)
    except SavepointError as error:
        return Restored(failure=str(error))
    except jpype.JException as error:
        return Restored(failure=described(error))
    except Exception as error:
        return Restored(failure=_unexpected(error, job.flink))


def _converted(command: Convert, built: list[Built], converters: Converters) -> Converted:
    """Do a conversion; gives its answer."""
    if command.job >= len(built):
        return Converted(failure="there is no such job")
    job = built[command.job]
    try:
        return converters.convert(command, job)
    except Exception as error:
        return Converted(failure=_unexpected(error, job.flink))


def _wrote(command: WriteKeyed, built: list[Built]) -> Wrote:
    """Write state in a backend's own format; gives its answer."""
    if command.job >= len(built):
        return Wrote(failure="there is no such job")
    job = built[command.job]
    try:
        write_keyed(command, job)
    except OperatorFailed as error:
        return Wrote(failure=str(error))
    except jpype.JException as error:
        return Wrote(failure=described(error))
    except Exception as error:
        return Wrote(failure=_unexpected(error, job.flink))
    return Wrote()


def _savepoint(command: Restore) -> Savepoint:
    """OLD's state. Raises SavepointError."""
    if command.metadata:
        return parse_metadata(command.metadata, os.path.join(command.folder, METADATA_FILE))
    return read_savepoint(command.folder)


def main(arguments: list[str]) -> None:
    """Read a request and then commands, one per line, from stdin; write messages to the first given descriptor."""
    descriptor = int(arguments[0].split(",")[0])
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=Request)
    keep_orphans()
    commands = _Commands(sys.stdin.buffer)
    out = _Out(descriptor)
    place = _workplace(request)
    built: list[Built] = []
    converters = Converters()
    while (command := commands.next()) is not None:
        answer: Ended | Restored | Converted | Wrote
        match command:
            case Restore():
                answer = _restored(command, built)
            case Convert():
                answer = _converted(command, built, converters)
            case WriteKeyed():
                answer = _wrote(command, built)
            case Build() if isinstance(place, Crash):
                answer = Ended(crash=place)
            case Build(program=program):
                built, converters = [], Converters()  # frees the objects of the last program
                answer, built = _build(program, place, out)
                os.write(sys.stderr.fileno(), PRINTED)
        commands.done()
        out.write(answer)
    end_all_below(os.getpid())
    if request.archive and isinstance(place, _Workplace):
        os.close(descriptor)
        java("java.lang.System").exit(0)  # the archive of classes is written at an orderly end
    os._exit(0)
