"""The interpreters whose forks load programs.

An interpreter first imports what every program needs and gets its requests afterwards, so that :func:`warm_up` can
start one while the command line is still being read.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from compat.compiler.own_code import ROOT
from compat.loader.descendants import end_all_below

# Our package is imported before a program's own of that name can be found; then its folder is the last that is searched.
_FIRST = (
    "import sys; root = sys.argv.pop(1); sys.path.insert(0, root); import compat; sys.path.append(sys.path.pop(0)); "
)


def beginning(module: str) -> str:
    """The start code of an interpreter, followed by the argument `ROOT`, that runs ``main`` of a module of compat."""
    return f"{_FIRST}from {module} import main; main(sys.argv[1:])"


_START = beginning("compat.loader.child")
_WARM_SLOTS = 2
_warm: list[Interpreter] = []


class Interpreter:
    """A process that forks once for each request it is sent.

    ``slots`` are pairs of file descriptors to read from, one pair per request: the result, and the program's output.
    ``start`` is the program of the interpreter.
    """

    def __init__(self, slots: int, hash_seed: int, *, ahead: bool = False, start: str = _START) -> None:
        self.slots: list[tuple[int, int]] = []
        writing: list[int] = []
        for _ in range(slots):
            result, errors = os.pipe(), os.pipe()
            self.slots.append((result[0], errors[0]))
            writing += [result[1], errors[1]]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", start, ROOT, ",".join(map(str, writing)), "ahead" if ahead else "later"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=writing[1],
            pass_fds=writing,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            start_new_session=True,
        )
        for descriptor in writing:
            os.close(descriptor)

    def send(self, requests: bytes) -> None:
        """Send the requests: a JSON array of at most as many as there are slots."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(requests)
            self.process.stdin.close()
        except BrokenPipeError:
            return  # it died: its output comes out of the slots

    def end(self) -> None:
        """End the process and everything that it and its forks started."""
        end_all_below(self.process.pid)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()
        self.process.wait()
        for slot in self.slots:
            for descriptor in slot:
                os.close(descriptor)


def warm_up() -> None:
    """Start the interpreter that the next :func:`interpreter` call returns; it ends with this process if it is not used."""
    _warm.append(Interpreter(_WARM_SLOTS, 0, ahead=True))


def interpreter(slots: int, hash_seed: int = 0) -> Interpreter:
    """An interpreter with at least this many slots: the waiting one, if it fits, or a new one."""
    if _warm and slots <= _WARM_SLOTS and hash_seed == 0:
        return _warm.pop()
    return Interpreter(slots, hash_seed)
