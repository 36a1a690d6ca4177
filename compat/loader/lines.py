"""The lines that a plan names, read from the program that it was made from, for those who keep the plan or send it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from compat.loader.inputs import Input, InputKind
from compat.plan.lines import with_lines
from compat.state.model.job import Plan, Refused

LARGEST = 4_000_000
"""Files of more bytes are not read for the sake of a few lines."""


def carrying(plan: Plan | Refused, given: Input) -> Plan | Refused:
    """The plan of an input with the lines of the program that it names, as far as they are at hand.

    A plan that was read from a file keeps those that it has. Those of a jar's classes are not there to be read.
    """
    if not isinstance(plan, Plan) or given.kind not in (InputKind.PROGRAM, InputKind.TOPOLOGY, InputKind.SQL):
        return plan
    return with_lines(plan, lambda file: read_lines(_path(file, given)))


def carrying_from(plan: Plan | Refused, sources: Mapping[str, Sequence[str]]) -> Plan | Refused:
    """The plan with the lines that it names, out of texts that were read already, or out of files.

    What it has it keeps. What a plan calls the files of a jar says nothing of where they are.
    """
    if not isinstance(plan, Plan) or plan.lines or plan.language == "java":
        return plan
    return with_lines(plan, lambda file: sources.get(file) or read_lines(file))


def _path(file: str, given: Input) -> str:
    """Where a file is, by what it is called (:func:`compat.loader.shown.show_path`)."""
    if file == given.argument:
        return given.path
    if given.root_shown and file.startswith(given.root_shown):
        return os.path.join(given.root, file[len(given.root_shown) :].lstrip("/"))
    return file


def read_lines(path: str) -> list[str] | None:
    """The lines of a file; None if there is none, or one too large to be read for a few lines."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return None
