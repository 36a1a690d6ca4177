"""Building a job in Java or SQL in a child process of its own, within a time."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from compat.loader.interpreter import Interpreter
from compat.loader.jvm.archive import Archive, archive_for
from compat.loader.jvm.distribution import FlinkDistribution
from compat.loader.jvm.java import Java
from compat.loader.jvm.model import (
    Begun,
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
)
from compat.loader.process import Pipes, drain

DEFAULT_TIMEOUT = 60.0
_START = "import sys; sys.path.append(sys.argv.pop(1)); from compat.loader.jvm.child import main; main(sys.argv[1:])"
_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_ENDING = 30.0
_TAIL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmOptions:
    """How a job is built: options of ``-D``, extra jars of the user's, and whether and how long open() is called."""

    options: dict[str, str]
    user_classpath: tuple[str, ...] = ()
    call_open: bool = True
    open_timeout: float = 5.0
    timeout: float = DEFAULT_TIMEOUT


class JvmOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a program: the jobs it submitted, in order, and how it failed, if it did.

    ``timed_out`` tells that it did not end in time; ``stuck`` are the lines where it stood then.
    """

    jobs: tuple[Job, ...]
    crash: Crash | None = None
    timed_out: bool = False
    stuck: tuple[JavaFrame, ...] = ()
    restored: tuple[Restored, ...] = ()


@dataclass(frozen=True, slots=True)
class Building:
    """Programs on their way: :func:`start` makes it, :func:`finish` waits for the outcomes.

    ``folder`` is where Flink's classes put files that they want for a while.
    """

    folder: str
    interpreter: Interpreter
    pipes: Pipes
    reading: threading.Thread
    archive: Archive

    def end(self) -> None:
        """End the process and all that it started, and remove what they left behind."""
        self.interpreter.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def _tell(interpreter: Interpreter, command: Request | Restore) -> None:
    """Give the child a command; a child that died tells so by its pipes."""
    assert interpreter.process.stdin is not None
    with suppress(BrokenPipeError):
        interpreter.process.stdin.write(msgspec.json.encode(command) + b"\n")
        interpreter.process.stdin.flush()


def start(
    programs: Sequence[Program], flink: FlinkDistribution, java: Java, options: JvmOptions, grace: float = 0.0
) -> Building:
    """Start to build programs, one after the other in one JVM; ``grace`` are seconds more, for restores into them."""
    archive = archive_for(flink, java)
    folder = tempfile.mkdtemp(prefix="compat-jvm-")
    deadline = time.monotonic() + options.timeout * len(programs) + grace
    request = Request(
        programs=tuple(programs),
        flink=flink.version,
        classpath=flink.classpath,
        java_library=str(java.library),
        jvm_options=(*archive.options, *_jvm_options(java), f"-Djava.io.tmpdir={folder}"),
        user_classpath=options.user_classpath,
        options=options.options,
        configuration=str(flink.configuration or ""),
        harness=not flink.note,
        call_open=options.call_open,
        open_timeout=options.open_timeout,
        timeout=options.timeout,
        deadline=deadline,
        archive=archive.fresh is not None,
    )
    interpreter = Interpreter(1, 0, start=_START)
    ((result_end, errors_end),) = interpreter.slots
    pipes = Pipes(result_end=result_end, errors_end=errors_end)
    # It is read from the start: a child that cannot write takes no commands.
    reading = threading.Thread(target=_read, args=(interpreter, pipes, deadline), daemon=True)
    reading.start()
    _tell(interpreter, request)
    return Building(folder, interpreter, pipes, reading, archive)


def _read(interpreter: Interpreter, pipes: Pipes, deadline: float) -> None:
    """Read all that the child writes; one whose time is up ends, so that nobody waits for it to take a command."""
    drain([pipes], deadline)
    if not pipes.done:
        interpreter.process.kill()


def ask(building: Building, restore: Restore) -> None:
    """Have OLD's state restored into a job that is being built; :func:`finish` gives the answers in order."""
    _tell(building.interpreter, restore)


def finish(building: Building) -> list[JvmOutcome]:
    """Wait for the outcomes of the programs that were begun; the process and all that it started are gone afterwards.

    There are fewer than programs if one of them ended the process or took too long: it is the last one then. The answers
    to restores are with the last one.
    """
    assert building.interpreter.process.stdin is not None
    with suppress(BrokenPipeError):
        building.interpreter.process.stdin.close()
    try:
        building.reading.join()
        code = _code(building) if building.pipes.done else None
    finally:
        building.end()
    if code == 0:
        building.archive.keep()
    return _outcomes(building.pipes, code)


def build(program: Program, flink: FlinkDistribution, java: Java, options: JvmOptions) -> JvmOutcome:
    """Build a program and wait for it."""
    (outcome,) = finish(start([program], flink, java, options))
    return outcome


def build_all(
    programs: Sequence[Program], flink: FlinkDistribution, java: Java, options: JvmOptions
) -> list[JvmOutcome]:
    """Build programs in as few JVMs as they let: one that ends its JVM costs the next ones a new one."""
    outcomes: list[JvmOutcome] = []
    while len(outcomes) < len(programs):
        outcomes += finish(start(programs[len(outcomes) :], flink, java, options))
    return outcomes


def _code(building: Building) -> int | None:
    """The exit code of a process that closed its pipe; one that makes an archive gets the time for it."""
    try:
        return building.interpreter.process.wait(_ENDING if building.archive.fresh else 5.0)
    except subprocess.TimeoutExpired:
        return None


def _outcomes(pipes: Pipes, code: int | None) -> list[JvmOutcome]:
    outcomes: list[JvmOutcome] = []
    jobs: list[Job] = []
    stuck: Stuck | None = None
    open_program = True
    for line in bytes(pipes.result).splitlines():
        try:
            message = _DECODER.decode(line)
        except msgspec.DecodeError:
            break  # cut off by the end of the process
        match message:
            case Begun():
                jobs, open_program = [], True
            case Submitted(job=job):
                jobs.append(job)
            case Stuck():
                stuck = message
            case Restored():
                outcomes[-1] = msgspec.structs.replace(outcomes[-1], restored=(*outcomes[-1].restored, message))
            case Ended(crash=crash):
                outcomes.append(JvmOutcome(jobs=tuple(jobs), crash=crash))
                open_program = False
    if open_program and (stuck is not None or not pipes.done):
        frames = () if stuck is None else stuck.frames
        outcomes.append(JvmOutcome(jobs=tuple(jobs), timed_out=True, stuck=frames))
    elif open_program:
        outcomes.append(JvmOutcome(jobs=tuple(jobs), crash=_ended_itself(pipes, code, bool(jobs))))
    return outcomes


def _ended_itself(pipes: Pipes, code: int | None, submitted: bool) -> Crash | None:
    """A program that ended its process: with code 0 after a job, that is its way to end."""
    if code == 0 and submitted:
        return None
    said = pipes.errors.decode("utf-8", "replace").strip()
    if code is not None and 0 <= code < 128 and "Traceback" not in said:
        return Crash(
            type="SystemExit",
            message=f"The program called System.exit({code}){'' if submitted else ' before it submitted a job'}.",
            hint="Look at what the program needs: arguments follow --args.",
        )
    last = " / ".join(said.splitlines()[-_TAIL:])
    return Crash(
        type="ProcessEnded", message=f"The JVM ended before the program was done{': ' + last if last else '.'}"
    )


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
        *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in packages),
        "--add-opens=java.base/sun.net.util=ALL-UNNAMED",
        *native,
        *quiet,
    )
