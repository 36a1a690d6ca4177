"""Starting child processes, and what can go wrong with them.

One interpreter is started for all programs that are loaded together: it imports what they need once, and forks for each.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compat.loader.request import Crash, Frame, Loaded, Request

DEFAULT_TIMEOUT = 30.0
MAX_RESULT = 2_000_000_000
_TAIL = 16_384
_STACK_LINE = re.compile(r'\s+File "(.+)", line (\d+) in (.+)')
_START = "import sys; sys.path.append(sys.argv.pop(1)); from compat.loader.child import main; main(sys.argv[1:])"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OURS = (os.path.join(_ROOT, "compat"), os.path.join(_ROOT, "compiler"), "<frozen")


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A program that did not end in time; ``frame`` is where it stood, if that could be seen."""

    seconds: float
    frame: Frame | None


Outcome = Loaded | TimedOut


@dataclass(slots=True)
class _Child:
    """One program on its way: the ends of its two pipes, and what came through them."""

    request: Request
    result_end: int
    errors_end: int
    result: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    done: bool = False


@dataclass(slots=True)
class Batch:
    """Programs that are being loaded: :func:`start` makes it, :func:`finish` waits for the results."""

    process: subprocess.Popen[bytes]
    children: list[_Child]
    deadline: float
    timeout: float


def start(requests: Sequence[Request], *, timeout: float = DEFAULT_TIMEOUT, hash_seed: int = 0) -> Batch:
    """Start to load programs. ``timeout`` is in seconds; ``hash_seed`` is the interpreter's."""
    children: list[_Child] = []
    writing: list[int] = []
    for request in requests:
        result, errors = os.pipe(), os.pipe()
        children.append(_Child(replace(request, dump_after=max(timeout - 0.3, timeout * 0.8)), result[0], errors[0]))
        writing += [result[1], errors[1]]
    arguments = [text for child in children for text in (child.request.to_json(),)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, _ROOT, ",".join(map(str, writing)), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=writing[1],
        pass_fds=writing,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        start_new_session=True,
    )
    for descriptor in writing:
        os.close(descriptor)
    return Batch(process, children, time.monotonic() + timeout, timeout)


def finish(batch: Batch) -> list[Outcome]:
    """Wait for the results of a batch, in order; the processes and all they started are gone afterwards."""
    try:
        _drain(batch)
    finally:
        _kill(batch)
        for child in batch.children:
            os.close(child.result_end)
            os.close(child.errors_end)
    return [_outcome(child, batch.timeout) for child in batch.children]


def load_one(request: Request, *, timeout: float = DEFAULT_TIMEOUT, hash_seed: int = 0) -> Outcome:
    """Load one program and wait for it."""
    (outcome,) = finish(start([request], timeout=timeout, hash_seed=hash_seed))
    return outcome


def _drain(batch: Batch) -> None:
    """Read until every result has ended or time is up; of what the programs say on stderr, keep the end."""
    with selectors.DefaultSelector() as selector:
        for child in batch.children:
            selector.register(child.result_end, selectors.EVENT_READ, (child, child.result))
            selector.register(child.errors_end, selectors.EVENT_READ, (child, child.errors))
        while not all(child.done for child in batch.children):
            left = batch.deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in selector.select(left):
                child, buffer = key.data
                chunk = os.read(key.fd, 1 << 20)
                buffer.extend(chunk)
                if buffer is child.errors and len(buffer) > 2 * _TAIL:
                    del buffer[:-_TAIL]
                if not chunk or len(child.result) > MAX_RESULT:
                    selector.unregister(key.fd)
                    child.done = child.done or key.fd == child.result_end


def _outcome(child: _Child, timeout: float) -> Outcome:
    if not child.done:
        return TimedOut(timeout, _last_frame(child))
    try:
        return Loaded.from_json(bytes(child.result))
    except (ValueError, KeyError, TypeError):
        return Loaded((), _died(child))


def _kill(batch: Batch) -> None:
    try:
        os.killpg(batch.process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        batch.process.kill()
    batch.process.wait()


def _died(child: _Child) -> Crash:
    """A child that ended without a result: the program ended the interpreter, or the interpreter crashed."""
    text = child.errors.decode("utf-8", "replace").strip()
    last = text.splitlines()[-1] if text else ""
    return Crash(
        type="ProcessEnded",
        message=f"The program ended its process before it was done{': ' + last if last else '.'}",
        frames=(),
        hint="Look for os._exit(), os.abort() or a crash in a native library.",
    )


def _last_frame(child: _Child) -> Frame | None:
    """The innermost line of the program, in the stack that the child printed shortly before its time was up."""
    text = child.errors.decode("utf-8", "replace")
    for match in _STACK_LINE.finditer(text):
        file, line, function = match.groups()
        if not file.startswith(_OURS):
            shown = child.request.shown if file == child.request.path else file
            return Frame(shown, int(line), function, "")
    return None
