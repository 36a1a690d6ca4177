"""The user's functions in a recipe, each in its own process, which ends with the migration."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing import parent_process
from multiprocessing.util import Finalize

from msgspec import DecodeError, msgpack

from compat.compiler.own_code import ROOT
from compat.loader.descendants import end_all_below
from compat.loader.inputs import LoadOptions
from compat.loader.interpreter import beginning
from compat.loader.late import more_time
from compat.migration.function_messages import LENGTH, Answer, Begin, framed
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_functions import Task
from compat.state.flink.python_states import Apply, Item

_CHILD = "compat.migration.function_child"


class Functions:
    """The functions of a recipe. ``load`` are the load options: the interpreter, its files and the time limit."""

    def __init__(self, load: LoadOptions, stack: ExitStack) -> None:
        self._load, self._stack = load, stack

    def applying(self, named: str, task: Task) -> Apply:
        """The executor of a task by a function, given by its file and name; it is started on first use."""
        file, _, name = named.rpartition(":")
        begin = Begin(os.path.abspath(file), name, task, self._load.flink, self._load.pyfiles)
        process = _Process(begin, self._load)
        self._stack.callback(process.end)
        return partial(_told, process, named)


def _told(process: _Process, named: str, items: Sequence[Item]) -> list[list[Item]]:
    """The answer about some items. Raises Unconvertible, which names the function."""
    try:
        return process.asked(list(items))
    except Unconvertible as error:
        raise Unconvertible(f"{named}: {error}") from None


class _Process:
    """The process of a function; it is there from the first question on. All raise Unconvertible.

    A process that writes a share of the state has one of its own, which ends with it.
    """

    def __init__(self, begin: Begin, load: LoadOptions) -> None:
        self._begin, self._load = begin, load
        self._process: subprocess.Popen[bytes] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._begin, self._load)

    def asked(self, items: list[Item]) -> list[list[Item]]:
        """What happens to some items."""
        if self._process is None:
            self._process = self._started()
            if parent_process() is not None:
                Finalize(None, self.end, exitpriority=0)
            self._answer(self._process, self._begin, "to begin")
        return self._answer(self._process, items, f"for {len(items):,} values").items

    def end(self) -> None:
        """End the process, and all that it started."""
        if self._process is not None:
            end_all_below(self._process.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with self._process:
                self._process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", beginning(_CHILD), ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **self._load.environment, "PYTHONHASHSEED": "0"},
            start_new_session=True,
        )

    def _answer(self, process: subprocess.Popen[bytes], message: Begin | list[Item], what: str) -> Answer:
        data = self._exchanged(process, framed(message), what)
        try:
            answer = msgpack.decode(data, type=Answer)
        except DecodeError as error:
            raise Unconvertible(f"its process does not answer as ours do: {error}") from None
        if answer.error:
            raise Unconvertible(answer.error)
        if not isinstance(message, Begin) and len(answer.items) != len(message):
            raise Unconvertible("its process does not answer as ours do")
        return answer

    def _exchanged(self, process: subprocess.Popen[bytes], sent: bytes, what: str) -> bytes:
        """The bytes of the answer to a message, both within the time that a program has."""
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + self._load.timeout
        os.set_blocking(process.stdin.fileno(), False)
        left, found = memoryview(sent), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            while len(found) < LENGTH.size or len(found) < LENGTH.size + LENGTH.unpack_from(found)[0]:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise Unconvertible(f"it takes longer than {self._load.timeout:g} s {what}: {self._more()}")
                for key, events in ready:
                    if events & selectors.EVENT_WRITE:
                        left = self._write(process, left)
                        if not left:
                            selector.unregister(process.stdin)
                    elif chunk := os.read(key.fd, 1 << 20):
                        found += chunk
                    else:
                        raise Unconvertible(f"its process ended with {process.wait()}")
        return bytes(found[LENGTH.size :])

    def _more(self) -> str:
        return more_time(self._load.timeout)

    @staticmethod
    def _write(process: subprocess.Popen[bytes], left: memoryview) -> memoryview:
        assert process.stdin is not None
        try:
            return left[os.write(process.stdin.fileno(), left) :]
        except BrokenPipeError:
            return left[len(left) :]  # it died: that comes out of the other end
