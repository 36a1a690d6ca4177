"""Python's search for cyclic garbage, and when to do without it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS_BETWEEN_SEARCHES = 20_000


def collect_rarely() -> None:
    """Search for cyclic garbage less often than by default, and never among what is loaded already.

    For processes that see millions of short-lived records: a program's own cycles are still found, only later.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES, 20, 20)


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cyclic garbage meanwhile, unless it was off before: also a decorator.

    While large graphs of long-lived objects are built, a search visits them all again and again and finds nothing.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
