"""Runs programs in the background: a child process goes on, and this one reports how it began."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def detach(store: str, run: Callable[[Callable[[dict[str, Any]], None]], int]) -> int:
    """Call ``run`` in a process of its own, and return when a job has started there, or could not start.

    ``run`` gets a function to call with the event of a start. Gives 0 once a job runs, and prints its id as the last line on
    stdout. Otherwise prints the output of ``run`` and gives its exit code.
    """
    from compat.compiler.spark.driver.job_folders import logs_of

    folder = logs_of(store)
    folder.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_background(folder, writing, run)
    os.close(writing)
    log = folder / f"run-{child}.log"
    with os.fdopen(reading) as pipe:
        line = pipe.readline()
    if line:
        event = json.loads(line)
        print(f"Job {event['job_id']} started ({event['name']}); what it says goes to {log}", file=sys.stderr)
        print(event["job_id"], flush=True)
        return 0
    _, status = os.waitpid(child, 0)
    sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
    return os.waitstatus_to_exitcode(status)


def _in_background(folder: Path, writing: int, run: Callable[[Callable[[dict[str, Any]], None]], int]) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(folder / f"run-{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for descriptor, source in ((0, null), (1, output), (2, output)):
        os.dup2(source, descriptor)
    code = 1
    told: list[int] = []

    def started(event: dict[str, Any]) -> None:
        if not told:
            told.append(os.write(writing, (json.dumps(event) + "\n").encode()))
            os.close(writing)

    try:
        code = run(started)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
