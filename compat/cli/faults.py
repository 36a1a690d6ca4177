"""What a command says when something went wrong that it did not foresee.

The exit code is 2 then, never 1, which means findings: nothing was decided. What the user's machine refuses is told as such;
everything else is a mistake of ours, and says so.
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
"""As a shell says of a command that Ctrl-C ended."""

TRACEBACK = "COMPAT_TRACEBACK"
"""The variable of the environment that asks for the traceback of a mistake of ours."""

_MOST = 500


@contextmanager
def told() -> Iterator[None]:
    """Turn what goes wrong inside into one line on standard error and the exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit):
        raise
    except KeyboardInterrupt:
        _end("Interrupted.", INTERRUPTED)
    except Exception as error:
        _end(sentence(error))


def sentence(error: Exception) -> str:
    """What to say of an exception that nobody foresaw."""
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
                f"This is a mistake of compat, not yours: {said} ({_place(error)}). Nothing was decided. "
                f"Please report it, with what {TRACEBACK}=1 prints."
            )


def _place(error: Exception) -> str:
    """The innermost line of ours where it happened."""
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
    except OSError:  # nobody listens: what the interpreter would say of that at its end helps nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
