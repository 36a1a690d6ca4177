"""Starting child processes, and what can go wrong with them."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace

from compat.loader.request import Crash, Frame, Loaded, Request

DEFAULT_TIMEOUT = 30.0
MAX_RESULT = 2_000_000_000
_TAIL = 16_384
_STACK_LINE = re.compile(r'\s+File "(.+)", line (\d+) in (.+)')
_START = "import sys; sys.path.append(sys.argv.pop(1)); from compat.loader.child import main; main(sys.argv[1:])"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A program that did not end in time; ``frame`` is where it stood, if that could be seen."""

    seconds: float
    frame: Frame | None


Outcome = Loaded | TimedOut


@dataclass(slots=True)
class Child:
    """A running child process: :func:`start` makes it, :func:`finish` waits for its result."""

    request: Request
    process: subprocess.Popen[bytes]
    result_end: int
    deadline: float
    timeout: float
    result: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)


def start(request: Request, *, timeout: float = DEFAULT_TIMEOUT, hash_seed: int = 0) -> Child:
    """Start to load a program. ``timeout`` is in seconds; ``hash_seed`` is the interpreter's."""
    reading, writing = os.pipe()
    request = replace(request, dump_after=max(timeout - 0.3, timeout * 0.8))
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, _ROOT, request.to_json(), str(writing)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(writing,),
        env=environment,
        start_new_session=True,
    )
    os.close(writing)
    return Child(request, process, reading, time.monotonic() + timeout, timeout)


def finish(child: Child) -> Outcome:
    """Wait for a child's result; it and all it started are gone afterwards."""
    try:
        in_time = _drain(child)
    finally:
        _kill(child)
        os.close(child.result_end)
        if child.process.stderr is not None:
            child.process.stderr.close()
    if not in_time:
        return TimedOut(child.timeout, _last_frame(child))
    try:
        return Loaded.from_json(bytes(child.result))
    except (ValueError, KeyError, TypeError):
        return Loaded((), _died(child))


def _drain(child: Child) -> bool:
    """Read the result until it ends; keep the end of what the child says on stderr. False when time is up."""
    assert child.process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.result_end, selectors.EVENT_READ, child.result)
        selector.register(child.process.stderr, selectors.EVENT_READ, child.errors)
        while True:
            left = child.deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 1 << 20)
                if not chunk and key.fd == child.result_end:
                    return True
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.extend(chunk)
                if key.data is child.errors and len(child.errors) > 2 * _TAIL:
                    del child.errors[:-_TAIL]
                if len(child.result) > MAX_RESULT:
                    return True


def _kill(child: Child) -> None:
    try:
        os.killpg(child.process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.process.kill()
    child.process.wait()


def _died(child: Child) -> Crash:
    """A child that ended without a result: the program ended the interpreter, or the interpreter crashed."""
    text = child.errors.decode("utf-8", "replace").strip()
    last = text.splitlines()[-1] if text else ""
    return Crash(
        type="ProcessEnded",
        message=f"The program ended its process before it was done{': ' + last if last else '.'}",
        frames=(),
        hint="Look for os._exit(), os.abort() or a crash in a native library.",
    )


def _last_frame(child: Child) -> Frame | None:
    """The innermost line of the program, in the stack that the child printed shortly before its time was up."""
    text = child.errors.decode("utf-8", "replace")
    for match in _STACK_LINE.finditer(text):
        file, line, function = match.groups()
        if not file.startswith((_ROOT + os.sep + "compat", _ROOT + os.sep + "compiler", "<frozen")):
            shown = child.request.shown if file == child.request.path else file
            return Frame(shown, int(line), function, "")
    return None
