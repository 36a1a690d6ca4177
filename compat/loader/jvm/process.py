"""A JVM in a child process: Flink builds programs in it and restores state into them, each within a time limit."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

import msgspec

from compat.loader.advice import said
from compat.loader.interpreter import Interpreter
from compat.loader.jvm.archive import archive_for
from compat.loader.jvm.distribution import FlinkDistribution
from compat.loader.jvm.java import Java
from compat.loader.jvm.messages import (
    PRINTED,
    Build,
    Command,
    Convert,
    Converted,
    Crash,
    Ended,
    JavaFrame,
    Job,
    Message,
    Program,
    Request,
    Restore,
    Restored,
    Stuck,
    Submitted,
    WriteKeyed,
    Wrote,
)
from compat.loader.jvm.patience import MOST_TIMES
from compat.loader.process import MAX_RESULT

DEFAULT_TIMEOUT = 60.0
_START = "import sys; sys.path.append(sys.argv.pop(1)); from compat.loader.jvm.child import main; main(sys.argv[1:])"
_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_STARTING = 20.0
_MARGIN = 1.0
_PULSE = 0.5
_ENDING = 30.0
_SAID = 16_384
_CHUNK = 1 << 20
_TAIL = 3


class JvmOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a job is built: options of ``-D``, extra jars of the user's, and whether and how long open() is called."""

    options: dict[str, str]
    user_classpath: tuple[str, ...] = ()
    call_open: bool = True
    open_timeout: float = 5.0
    timeout: float = DEFAULT_TIMEOUT


class Setup(msgspec.Struct, frozen=True):
    """The parameters of a JVM's start."""

    flink: FlinkDistribution
    java: Java
    options: JvmOptions


class JvmOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a program: the jobs it submitted, in order, and how it failed, if it did.

    ``timed_out`` says that it did not end in time; ``stuck`` are the lines that it was in then, ``waits`` is the call that it
    waited for. ``restored`` are the answers to restores, in order; there are fewer than requests if a restore took too long or
    ended the JVM. ``said`` is the end of its error output; ``missed`` are the missing environment variables that it asked for,
    with the lines. ``absent``, ``former`` and ``endless`` are those of :class:`compat.loader.jvm.messages.Ended`.
    """

    jobs: tuple[Job, ...]
    crash: Crash | None = None
    timed_out: bool = False
    stuck: tuple[JavaFrame, ...] = ()
    waits: str = ""
    restored: tuple[Restored, ...] = ()
    said: str = ""
    missed: dict[str, JavaFrame] = {}
    absent: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    endless: str = ""


@dataclass(slots=True, eq=False)
class Building:
    """A program on its way in a JVM: :meth:`JvmProcess.build` makes it, :meth:`outcome` waits for what comes of it.

    ``number`` is its place among the programs of the JVM, from 1.
    """

    jvm: JvmProcess
    number: int
    jobs: list[Job] = field(default_factory=list)
    stuck: Stuck | None = None
    ended: Ended | None = None
    restored: list[Restored] = field(default_factory=list)
    answers: list[Converted | Wrote] = field(default_factory=list)
    said: str = ""

    def restore(self, wanted: Restore) -> None:
        """Have OLD's state restored into a job of this program, which is the last that its JVM was told to build."""
        assert self.number == self.jvm.builds
        self.jvm._tell(wanted, self)

    def convert(self, wanted: Convert) -> Converted | None:
        """Have values written by the classes of this program, and wait for them; None if the JVM ended, or its time was up."""
        answer = self._answer(wanted)
        return answer if isinstance(answer, Converted) else None

    def write_keyed(self, wanted: WriteKeyed) -> Wrote | None:
        """Have state of a savepoint written by a backend, and wait for it; None if the JVM ended, or its time was up."""
        answer = self._answer(wanted)
        return answer if isinstance(answer, Wrote) else None

    def _answer(self, wanted: Convert | WriteKeyed) -> Converted | Wrote | None:
        assert self.number == self.jvm.builds
        self.jvm._tell(wanted, self)
        self.jvm._wait(self)
        return self.answers.pop() if self.answers else None

    def outcome(self) -> JvmOutcome | None:
        """Wait for the program and the restores into it; None if the JVM had ended before it came to the program."""
        outcome = self.jvm._wait(self)
        if self.number == 1:
            self.jvm.first = outcome
        return outcome


class _Asked(msgspec.Struct, frozen=True):
    """A command that has no answer yet, and for how many seconds it may take."""

    building: Building
    is_build: bool
    seconds: float


class JvmProcess:
    """A child process with one JVM that holds one Flink. It takes programs until it is closed, or until one ends it.

    ``builds`` counts the requested builds of programs; ``first`` is the outcome of the first. Temporary files of Flink's
    classes are in a folder that is removed with the process.
    """

    def __init__(self, setup: Setup) -> None:
        flink, java, options = setup.flink, setup.java, setup.options
        self.setup = setup
        self.builds = 0
        self.first: JvmOutcome | None = None
        self._archive = archive_for(flink, java)
        self._folder = tempfile.mkdtemp(prefix="compat-jvm-")
        self._asked: deque[_Asked] = deque()
        self._changed = threading.Condition()
        self._until = self._ready = time.monotonic() + _STARTING
        self._errors = bytearray()
        self._gone = self._late = self._closed = False
        self._code: int | None = None
        self._interpreter = Interpreter(1, 0, start=_START)
        self._write(
            Request(
                flink=flink.version,
                classpath=flink.classpath,
                java_library=str(java.library),
                jvm_options=(*self._archive.options, *_jvm_options(java), f"-Djava.io.tmpdir={self._folder}"),
                user_classpath=options.user_classpath,
                options=options.options,
                configuration=str(flink.configuration or ""),
                harness=not flink.note,
                call_open=options.call_open,
                open_timeout=options.open_timeout,
                timeout=options.timeout,
                archive=self._archive.fresh is not None,
            )
        )
        # It is read from the start: a child that cannot write takes no commands.
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> JvmProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.end()

    @property
    def alive(self) -> bool:
        """Whether it takes further programs."""
        with self._changed:
            return not (self._gone or self._closed)

    @property
    def closed(self) -> bool:
        """Whether it was ended by whoever started it."""
        return self._closed

    def build(self, program: Program) -> Building:
        """Have a program built, behind those that it was told to build before."""
        self.builds += 1
        building = Building(self, self.builds)
        self._tell(Build(program=program), building)
        return building

    def close(self) -> None:
        """Wait for its tasks, then end it and everything that it and its programs started."""
        if self._closed:
            return
        process = self._interpreter.process
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._gone or not self._asked)
            self._hang_up()
            with suppress(subprocess.TimeoutExpired):
                # One that makes an archive of its classes gets the time for it.
                if process.wait(_ENDING if self._archive.fresh else 5.0) == 0:
                    self._archive.keep()
        finally:
            self.end()

    def end(self) -> None:
        """End the process at once, and remove its files."""
        if self._closed:
            return
        self._closed = True
        self._interpreter.process.kill()
        self._reading.join()
        self._hang_up()
        self._interpreter.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, command: Request | Command) -> None:
        """Give the child a command; one that has died tells so by its pipes."""
        assert self._interpreter.process.stdin is not None
        with suppress(BrokenPipeError):
            self._interpreter.process.stdin.write(msgspec.json.encode(command) + b"\n")
            self._interpreter.process.stdin.flush()

    def _hang_up(self) -> None:
        """Tell the child that no command follows."""
        assert self._interpreter.process.stdin is not None
        with suppress(BrokenPipeError):
            self._interpreter.process.stdin.close()

    def _tell(self, command: Command, building: Building) -> None:
        seconds = MOST_TIMES * self.setup.options.timeout + _MARGIN  # the child ends it before, unless it hangs
        if isinstance(command, Restore) and command.limit is not None:
            seconds += command.limit.seconds
        elif isinstance(command, WriteKeyed):
            seconds += command.seconds
        with self._changed:
            if not self._asked:
                self._until = (
                    max(self._ready, time.monotonic()) + seconds
                )  # the start does not count as the program's time
            self._asked.append(_Asked(building, isinstance(command, Build), seconds))
        self._write(command)

    def _wait(self, building: Building) -> JvmOutcome | None:
        with self._changed:
            self._changed.wait_for(lambda: self._gone or all(one.building is not building for one in self._asked))
            # When the process ended, it had begun at most the first of the open requests.
            begun = bool(self._asked) and self._asked[0].building is building
        jobs, restored = tuple(building.jobs), tuple(building.restored)
        if building.ended is not None:
            ended = building.ended
            return JvmOutcome(
                jobs=jobs,
                crash=ended.crash,
                restored=restored,
                said=building.said,
                missed=ended.missed,
                absent=ended.absent,
                former=ended.former,
                endless=ended.endless,
            )
        if not begun:
            return None
        if building.stuck is not None or self._late:
            stuck = building.stuck or Stuck(frames=())
            return JvmOutcome(jobs=jobs, timed_out=True, stuck=stuck.frames, waits=stuck.call)
        return JvmOutcome(jobs=jobs, crash=self._ended_itself(bool(jobs)))

    def _read(self) -> None:
        """Read what the child answers until it ends; one whose time is up is ended, so that nobody waits for it."""
        result, errors = self._interpreter.slots[0]
        pending = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(result, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while result in selector.get_map() and not self._is_late(len(pending)):
                reported = b""
                if result in _ready(selector, _PULSE) and not (reported := os.read(result, _CHUNK)):
                    selector.unregister(result)
                # A program's output is in its pipe before its end is reported: it is read behind that, and counts before it.
                if errors in _ready(selector, 0.0) and not self._print(os.read(errors, _CHUNK)):
                    selector.unregister(errors)
                pending += reported
                if b"\n" in reported:
                    *lines, pending = pending.split(b"\n")
                    for line in lines:
                        self._answered(line)
        if self._asked and not self._late:
            with suppress(subprocess.TimeoutExpired):
                self._code = self._interpreter.process.wait(_ENDING if self._archive.fresh else 5.0)
        with self._changed:
            self._gone = True
            self._changed.notify_all()

    def _print(self, chunk: bytes) -> bool:
        """Keep what programs print, of each its end alone, and all marks; whether they may print more."""
        programs = (self._errors + chunk).split(PRINTED)
        self._errors = bytearray(PRINTED).join(program[-_SAID:] for program in programs)
        return bool(chunk)

    def _is_late(self, pending: int) -> bool:
        """Whether an answer has taken its time, or is longer than any; the process is ended then."""
        with self._changed:
            self._late = bool(self._asked) and (time.monotonic() > self._until or pending > MAX_RESULT)
        if self._late:
            self._interpreter.process.kill()
        return self._late

    def _answered(self, line: bytes | bytearray) -> None:
        try:
            message = _DECODER.decode(line)
        except msgspec.DecodeError:
            return
        with self._changed:
            if not self._asked:
                return
            building, is_build = self._asked[0].building, self._asked[0].is_build
            if building.stuck is not None:
                return  # its process is being ended: its last words are no answer
            match message:
                case Submitted(job=job) if is_build:
                    building.jobs.append(job)
                    return
                case Stuck() if is_build:
                    building.stuck = message
                    return
                case Ended() if is_build:
                    building.ended = message
                    own, _, self._errors = self._errors.partition(PRINTED)  # the next program may have printed already
                    building.said = said(bytes(own))
                case Restored() if not is_build:
                    building.restored.append(message)
                case Converted() | Wrote() if not is_build:
                    building.answers.append(message)
                case _:
                    return  # nobody asked for it
            self._asked.popleft()
            if self._asked:
                self._until = time.monotonic() + self._asked[0].seconds
            self._changed.notify_all()

    def _ended_itself(self, submitted: bool) -> Crash | None:
        """A program that ended its process: with code 0 after a job, that is its way to end."""
        if self._code == 0 and submitted:
            return None
        errors = self._errors.rpartition(PRINTED)[2].decode("utf-8", "replace").strip()
        if self._code is not None and 0 <= self._code < 128 and "Traceback" not in errors:
            printed = f" It printed: {errors.splitlines()[-1].strip()}" if errors else ""
            when = "" if submitted else " before it submitted a job"
            return Crash(
                type="SystemExit",
                message=f"The program called System.exit({self._code}){when}.{printed}",
                hint="Check the program's input: give arguments with --args, variables with --env.",
            )
        last = " / ".join(errors.splitlines()[-_TAIL:])
        return Crash(
            type="ProcessEnded", message=f"The JVM ended before the program was done{': ' + last if last else '.'}"
        )


def _ready(selector: selectors.BaseSelector, seconds: float) -> set[int]:
    return {key.fd for key, _ in selector.select(seconds)}


def _jvm_options(java: Java) -> tuple[str, ...]:
    """The options that open what Flink's classes need, and make the JVM quick to start."""
    opened = ("lang", "lang.invoke", "lang.reflect", "io", "math", "net", "nio", "text", "time", "util")
    packages = (*opened, "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks")
    quiet = ("--sun-misc-unsafe-memory-access=allow", "-Dio.netty.noUnsafe=false") if java.major >= 24 else ()
    native = ("--enable-native-access=ALL-UNNAMED",) if java.major >= 17 else ()
    return (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xss4m",
        "-Duser.language=en",  # what is said of a job depends neither on the language of this machine
        "-Duser.country=US",
        "-Duser.timezone=UTC",  # nor on its clock
        *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in packages),
        "--add-opens=java.base/sun.net.util=ALL-UNNAMED",
        *native,
        *quiet,
    )
