"""The process that builds one program: ``python -m compat.service.building FOLDER MEMORY SECONDS``, the request on its
input.

It confines itself before it reads the program. The plan goes to its output; the program's own output does not. Exit
code 1: the program gives no plan, and standard error says why; 3: the kernel cannot confine it.
"""

from __future__ import annotations

import os
import sys

from compat.service.building.confinement import CannotConfine, confine, end_with_parent

NO_PLAN, NOT_CONFINED = 1, 3


def main(folder: str, memory: str, seconds: str) -> int:
    """Build the program given on standard input; the exit code."""
    asked = sys.stdin.buffer.read()
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        confine(folder, int(memory), int(seconds))
    except CannotConfine as error:
        print(error.strerror, file=sys.stderr)
        return NOT_CONFINED
    if not asked:
        return 0  # only whether it could be confined was asked
    inner = os.fork()
    if inner:
        _, status = os.waitpid(inner, 0)
        return os.waitstatus_to_exitcode(status) & 0x7F
    end_with_parent()
    code = _build(folder, asked, answer)
    sys.stderr.flush()
    os._exit(code)


def _build(folder: str, asked: bytes, answer: int) -> int:
    os.chdir(folder)
    from compat.service.building.program import NoPlan, built

    try:
        plan = built(asked)
    except NoPlan as error:
        print(error, file=sys.stderr)
        return NO_PLAN
    with open(answer, "wb") as file:
        file.write(plan)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
