"""The story of ``compat demo``. Each step is a command that anyone can repeat in the demo's folder."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import compat.examples
from compat.execution.story import REFUSED, Broken, begin, command, heading, text

_EXAMPLE = Path(compat.examples.__path__[0]) / "word_count"
_PROGRAMS = ("v1.py", "v2.py", "v2_fixed.py")
_NEEDS_SPARK = "The demo runs jobs, and {name!r} is not installed: pip install 'stream-compat[spark,java]'."
_COUNT = re.compile(r"\((\w+),(\d+)\)$")
_WORDS = ["to", "be", "or", "not", "to", "be"]
_NUMBERS = 1000


def tell(folder: str) -> int:
    """Tell the story; gives the exit code."""
    reason = _what_is_missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return REFUSED
    return begin(folder, {name: _EXAMPLE / name for name in _PROGRAMS}, _story, made=(".compat",))


def _what_is_missing() -> str | None:
    """One sentence that says what to install, or None."""
    try:
        import deltalake  # noqa: F401
        import pyspark  # noqa: F401

        from compat.compiler.spark.driver.session import MissingJava, find_java
    except ModuleNotFoundError as error:
        return _NEEDS_SPARK.format(name=error.name)
    try:
        find_java()
    except MissingJava as error:
        return str(error)
    return None


def _story(home: Path) -> None:
    heading("1. v1.py counts words. v2.py leaves out the short ones. Can it restore the counts?")
    command(home, "check", "v1.py", "v2.py", "--output", "concise", ends=1)
    text("No: the new filter takes the counter's id, and Flink would not even say so. v2_fixed.py pins both ids:")
    command(home, "check", "v1.py", "v2_fixed.py", lines=1)

    heading("2. v1.py runs on Spark for three epochs and stops with a savepoint, a Delta table.")
    said = command(home, "run", "v1.py", "--epochs", "3", "--epoch-records", "100", lines=0)
    savepoint = os.path.relpath(said.splitlines()[-1], home)
    text(f"Savepoint: {savepoint}")
    command(home, "state", savepoint, "count words")
    before = _counts(said)

    heading("3. The savepoint carries the plan of its program. The check needs nothing else.")
    command(home, "check", savepoint, "v2.py", "--output", "concise", ends=1)
    command(home, "check", savepoint, "v2_fixed.py", lines=1)

    heading("4. v2_fixed.py restores the savepoint and counts on to the end.")
    after = _counts(command(home, "run", "v2_fixed.py", "-s", savepoint, lines=0))
    expected = sum(_WORDS[number % len(_WORDS)] == "not" for number in range(1, _NUMBERS + 1))
    text(f"'not' at the savepoint: {before['not']}    now: {after['not']}    in a run that never stopped: {expected}")
    if after != {"not": expected}:
        raise Broken("the restored job counted otherwise than one that never stopped. Please report this.")

    heading(f"Where to look next, in {home}/")
    steps = (
        ("compat check v1.py v2.py", "the whole report: source lines, reasons, fixes"),
        ("compat explain v1.py v2.py 'count words'", "why the id changed"),
        ("compat plan v1.py", "the four graphs"),
        (f"compat inspect {savepoint}", "what is in the savepoint"),
        ("compat job list --all", "the jobs that ran here"),
        ("compat rules", "everything that is checked"),
    )
    text("\n".join(f"{call:<72} {what}" for call, what in steps))


def _counts(said: str) -> dict[str, int]:
    """The last count of each word in what the job printed."""
    found: dict[str, int] = {}
    for line in said.splitlines():
        if match := _COUNT.search(line):
            found[match[1]] = max(int(match[2]), found.get(match[1], 0))
    return found
