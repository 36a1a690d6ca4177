"""The messages of commands for unforeseen errors.

The exit code is 2 (nothing was decided), never 1, which means findings. Refusals of the user's machine are reported as
such; everything else is reported as a bug of compat.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from compat.escaping import visible

UNDECIDED = 2
INTERRUPTED = 130
"""The exit code that a shell gives a command ended by Ctrl-C."""

TRACEBACK = "COMPAT_TRACEBACK"
"""The environment variable that asks for the traceback of a bug of compat."""

_MOST = 500


@contextmanager
def told() -> Iterator[None]:
    """Turn an unforeseen error into one line on standard error and the exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit):
        raise
    except KeyboardInterrupt:
        _end("Interrupted.", INTERRUPTED)
    except Exception as error:
        _end(sentence(error))


def sentence(error: Exception) -> str:
    """The message for an unforeseen exception."""
    match error:
        case OSError(errno=errno.EPIPE):
            return ""  # whoever read our output left
        case OSError() if error.strerror:
            names = ", ".join(_clipped(os.fsdecode(name)) for name in (error.filename, error.filename2) if name)
            return f"{names + ': ' if names else ''}{error.strerror}. Nothing was decided."
        case MemoryError():
            return "There is not enough memory for this. Nothing was decided."
        case _:
            said = _clipped(f"{type(error).__name__}: {_text(error)}")
            return (
                f"This is a bug of compat, not a mistake of yours: {said} ({_place(error)}). Nothing was decided. "
                f"Please report it, with what {TRACEBACK}=1 prints."
            )


def _place(error: Exception) -> str:
    """The innermost line of compat's code where it happened."""
    from compat.compiler.own_code import is_our_file, told_name

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if is_our_file(frame.filename)]
    return next((f"{told_name(frame.filename)}:{frame.lineno}" for frame in reversed(ours or frames)), "nowhere")


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "?"


def _clipped(text: str) -> str:
    return visible(text if len(text) <= _MOST else f"{text[:_MOST]}…")


def _end(message: str, code: int = UNDECIDED) -> None:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    try:
        if message:
            click.echo(message, err=True)
        sys.stdout.flush()
    except OSError:  # nobody reads the output: the interpreter's error about that helps nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
