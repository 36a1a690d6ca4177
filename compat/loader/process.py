"""Starting child processes, and what can go wrong with them.

One interpreter is started for all programs that are loaded together: it imports what they need once, and forks for each.
"""

from __future__ import annotations

import linecache
import os
import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from compat.compiler.own_code import is_library, is_machinery
from compat.loader import interpreter as interpreters
from compat.loader.advice import said
from compat.loader.interpreter import Interpreter
from compat.loader.late import stacks, waits
from compat.loader.request import END, Crash, Frame, Loaded, Request, clipped, requests_to_json

DEFAULT_TIMEOUT = 30.0
MAX_RESULT = 2_000_000_000
_TAIL = 16_384
_BEFORE = 1.0
"""So many seconds before its time is up, at most, a program is asked where it stands: a busy machine needs some to tell."""


class TimedOut(Struct, frozen=True, kw_only=True):
    """A program that did not end in time; ``frame`` is where it stood, if that could be seen, and whether it waited there."""

    seconds: float
    frame: Frame | None
    waits: bool = False


Outcome = Loaded | TimedOut


@dataclass(slots=True, kw_only=True)
class Pipes:
    """One program on its way: the ends of its two pipes, and what came through them.

    ``one_line`` tells that the result ends with its line, whoever holds the pipe then.
    """

    result_end: int
    errors_end: int
    result: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    one_line: bool = False
    done: bool = False


@dataclass(slots=True, kw_only=True)
class _Child(Pipes):
    request: Request


@dataclass(slots=True)
class Batch:
    """Programs that are being loaded: :func:`start` makes it, :func:`finish` waits for the results."""

    interpreter: Interpreter
    children: list[_Child]
    deadline: float
    timeout: float


def start(requests: Sequence[Request], *, timeout: float = DEFAULT_TIMEOUT, hash_seed: int = 0) -> Batch:
    """Start to load programs. ``timeout`` is in seconds; ``hash_seed`` is the interpreter's."""
    interpreter = interpreters.interpreter(len(requests), hash_seed)
    deadline = time.monotonic() + timeout
    dump_at = deadline - min(_BEFORE, timeout / 5)
    children = [
        _Child(
            request=replace(request, dump_at=dump_at),
            result_end=result_end,
            errors_end=errors_end,
            one_line=True,
        )
        for request, (result_end, errors_end) in zip(requests, interpreter.slots, strict=False)
    ]
    interpreter.send(requests_to_json([child.request for child in children]))
    return Batch(interpreter, children, deadline, timeout)


def finish(batch: Batch) -> list[Outcome]:
    """Wait for the results of a batch, in order; the processes and all they started are gone afterwards."""
    try:
        drain(batch.children, batch.deadline)
    finally:
        batch.interpreter.end()
    return [_outcome(child, batch.timeout) for child in batch.children]


def load_one(request: Request, *, timeout: float = DEFAULT_TIMEOUT) -> Outcome:
    """Load one program and wait for it."""
    (outcome,) = finish(start([request], timeout=timeout))
    return outcome


def drain(children: Sequence[Pipes], deadline: float) -> None:
    """Read until every result has ended or time is up; of what the programs say on stderr, keep the end."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.result_end, selectors.EVENT_READ, (child, child.result))
            selector.register(child.errors_end, selectors.EVENT_READ, (child, child.errors))
        while not all(child.done for child in children):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in selector.select(left):
                child, buffer = key.data
                chunk = os.read(key.fd, 1 << 20)
                buffer.extend(chunk)
                if buffer is child.errors and len(buffer) > 2 * _TAIL:
                    del buffer[:-_TAIL]
                ended = key.fd == child.result_end and child.one_line and chunk.endswith(END)
                if not chunk or ended or len(child.result) > MAX_RESULT:
                    selector.unregister(key.fd)
                    child.done = child.done or key.fd == child.result_end


def _outcome(child: _Child, timeout: float) -> Outcome:
    if not child.done:
        return _timed_out(child, timeout)
    try:
        loaded = Loaded.from_json(bytes(child.result))
    except ValidationError as error:
        message = f"The job has no valid plan: {clipped(str(error))}."
        return Loaded(plans=(), crash=Crash(type="PlanError", message=message, frames=(), fault=True))
    except ValueError:
        return Loaded(plans=(), crash=_died(child))
    if loaded.crash is None:
        return loaded if loaded.plans else replace(loaded, said=said(bytes(child.errors)))
    return (
        loaded if loaded.crash.fault else replace(loaded, crash=replace(loaded.crash, said=said(bytes(child.errors))))
    )


def _died(child: _Child) -> Crash:
    """A child that ended without a result: the program ended the interpreter, or the interpreter crashed."""
    text = child.errors.decode("utf-8", "replace").strip()
    last = text.splitlines()[-1] if text else ""
    if not child.result:
        return Crash(type="ProcessEnded", message=last or "The interpreter did not start.", frames=(), fault=True)
    return Crash(
        type="ProcessEnded",
        message=f"The program ended its process before it was done{': ' + clipped(last, 500) if last else '.'}",
        frames=(),
        hint="Look for os._exit(), os.abort() or a crash in a native library.",
    )


def _timed_out(child: _Child, seconds: float) -> TimedOut:
    """A program whose time is up, with its innermost line in the stacks that it printed shortly before.

    Where no line is the program's own, it is that of a library. The stacks are those of all threads: libraries have theirs.
    """
    read = stacks(child.errors.decode("utf-8", "replace"))
    threads = [[line for line in one if not is_machinery(line[0])] for one in read]
    threads = [one for one in threads if one]
    for thread, own in [(one, [line for line in one if not is_library(line[0])]) for one in threads] + [
        (one, one) for one in threads
    ]:
        for file, line, function in own:
            shown = child.request.shown if file == child.request.path else file
            frame = Frame(file=shown, line=line, function=function, text=linecache.getline(file, line).strip())
            return TimedOut(seconds=seconds, frame=frame, waits=waits(frame, thread[0][0]))
    return TimedOut(seconds=seconds, frame=None)
