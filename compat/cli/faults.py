"""A fault of ours that ends a command: what it says."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable

import click

from compat.compiler.ours import is_our_file
from compat.loader.advice import REPORT, report_of
from compat.loader.failure import Failure, Undecidable

UNDECIDED, INTERNAL_ERROR = 2, 3


def code_of(failures: Iterable[Failure]) -> int:
    """The exit code where nothing could be decided: 3 for a fault of ours, else 2."""
    return INTERNAL_ERROR if any(one.rule == Undecidable.INTERNAL_ERROR for one in failures) else UNDECIDED


def told(error: Exception) -> None:
    """Say on standard error what failed, and what to report of it; COMPAT_TRACEBACK=1 shows Python's own traceback, too."""
    if os.environ.get("COMPAT_TRACEBACK"):
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        inner = frame.filename.partition(f"{os.sep}compat{os.sep}")[2] if is_our_file(frame.filename) else ""
        shown = f"compat/{inner}" if inner else os.path.basename(frame.filename)
        lines.append(f'  File "{shown}", line {frame.lineno}, in {frame.name}')
    click.echo(f"compat itself failed: {type(error).__name__}: {error}\n{REPORT}", err=True)
    click.echo(report_of(lines, type(error).__name__), err=True)
