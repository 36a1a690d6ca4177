"""Shows on standard error how far long work is: a moving line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_SHORT = 1.0
"""Seconds of work that are too short for a line."""
_REFRESH = 0.5
"""Seconds between two looks of the moving line."""
_QUIET = 30.0
"""Seconds between two lines where there is no terminal."""
_ERASE = "\r\x1b[K"


@contextmanager
def shown(doing: str, size: int, done: Callable[[], int]) -> Iterator[None]:
    """Show how many of so many bytes are done, until the block is left: ``done`` tells it, from another thread."""
    live = sys.stderr.isatty()
    over = threading.Event()

    def show() -> None:
        pause = _SHORT if live else _QUIET
        while not over.wait(pause):
            pause = _REFRESH if live else _QUIET
            line = f"{doing}: {done() / 1e6:,.0f} of about {size / 1e6:,.0f} MB"
            click.echo(f"{_ERASE}{line}" if live else line, err=True, nl=not live)
        if live:
            click.echo(_ERASE, err=True, nl=False)

    showing = threading.Thread(target=show, daemon=True)
    showing.start()
    try:
        yield
    finally:
        over.set()
        showing.join()
