"""The child process: holds one JVM, builds one program in it, and writes what the program submits, job by job.

What the program prints goes nowhere. A program may end its process at any time: what was written until then counts.
"""

from __future__ import annotations

import os
import sys
import threading

import jpype
import msgspec

from compat.loader.jvm.bridge import Java, java, user_frames
from compat.loader.jvm.capture import take_jobs
from compat.loader.jvm.jobs import NoStreamGraph, build_job
from compat.loader.jvm.model import (
    Crash,
    Ended,
    JarProgram,
    JavaFrame,
    Message,
    Request,
    Stuck,
    Submitted,
)
from compat.loader.jvm.places import Places, capturing_environment
from compat.loader.jvm.program import crash_of, packaged

_ENCODER = msgspec.json.Encoder()


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
    """Builds each job that the program submits and writes it; a job that Flink refuses raises in the program."""

    def __init__(self, request: Request, out: _Out, places: Places) -> None:
        self._places = places
        self.refusals: list[Crash] = []
        self._request = request
        self._out = out

    def __call__(self, pipeline: Java) -> None:
        loader = java("java.lang.Thread").currentThread().getContextClassLoader()
        try:
            self._out.write(Submitted(job=build_job(pipeline, self._request, loader, self._places)))
        except jpype.JException as error:
            self.refusals.append(crash_of(error, self._request))
            raise
        except NoStreamGraph as error:
            kind = str(error)
            hint = "Only streaming jobs keep state in savepoints."
            self.refusals.append(
                Crash(type="NoStreamGraph", message=f"The job is no streaming job: {kind}.", hint=hint)
            )
            raise java("java.lang.UnsupportedOperationException")(kind) from error


def start_jvm(request: Request) -> None:
    """Start the JVM of this process."""
    jpype.startJVM(
        request.java_library,
        *request.jvm_options,
        classpath=list(request.classpath),
        convertStrings=False,
        ignoreUnrecognized=True,
    )


def run(request: Request, out: _Out) -> Ended:
    """Build the program of a request; gives how it ended."""
    try:
        start_jvm(request)
    except (OSError, RuntimeError, jpype.JException) as error:
        hint = "Set JAVA_HOME to another Java."
        return Ended(crash=Crash(type=type(error).__name__, message=f"The JVM does not start: {error}", hint=hint))
    _watch(request, out)
    try:
        places = Places()
        taker = _Taker(request, out, places)
        take_jobs(taker, request.options, capturing_environment(places.note))
        if isinstance(request.program, JarProgram):
            program = packaged(request.program, request)
            java("java.lang.Thread").currentThread().setContextClassLoader(program.getUserCodeClassLoader())
            program.invokeInteractiveModeForExecution()
    except jpype.JException as error:
        return Ended(crash=crash_of(error, request))
    return Ended(crash=taker.refusals[0] if taker.refusals else None)


def _watch(request: Request, out: _Out) -> None:
    """Say where the program stands shortly before its time is up."""
    if request.warn_after <= 0:
        return
    thread = java("java.lang.Thread").currentThread()

    def tell() -> None:
        frames: tuple[JavaFrame, ...] = tuple(user_frames(thread.getStackTrace()))
        out.write(Stuck(frames=frames))

    timer = threading.Timer(request.warn_after, tell)
    timer.daemon = True
    timer.start()


def main(arguments: list[str]) -> None:
    """Read a request from stdin and write messages to the first descriptor that the first argument lists."""
    descriptor = int(arguments[0].split(",")[0])
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    out = _Out(descriptor)
    out.write(run(request, out))
    if request.archive:
        os.close(descriptor)
        java("java.lang.System").exit(0)  # the archive of classes is written at an orderly end
    os._exit(0)
