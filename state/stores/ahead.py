"""Files on other storage are fetched ahead in parallel: each file is a request there, whose latency exceeds the
transfer time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MOST = 16
"""The maximum number of requests under way at once."""


def fetched_ahead(get: Callable[[T], R], items: Iterable[T], *, local: bool) -> Iterator[tuple[T, Callable[[], R]]]:
    """Each item, in order, with what gives what ``get`` gives for it, or raises what that raises.

    It fetches as many more in advance as were taken, up to :data:`MOST`, so it never fetches far ahead of its reader. On the
    file system of this machine it fetches nothing in advance.
    """
    if local:
        yield from ((item, partial(get, item)) for item in items)
        return
    coming = iter(items)
    for item in islice(coming, 1):  # mostly it is all that is wanted, and no thread is begun for it
        yield item, partial(get, item)
    under_way: deque[tuple[T, Callable[[], R]]] = deque()
    wanted = 2
    threads = ThreadPoolExecutor(MOST, thread_name_prefix="fetch")
    try:
        while True:
            for item in islice(coming, wanted - len(under_way)):
                under_way.append((item, _begun(threads, get, item)))
            if not under_way:
                return
            yield under_way.popleft()
            wanted = min(2 * wanted, MOST)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _begun(threads: ThreadPoolExecutor, get: Callable[[T], R], item: T) -> Callable[[], R]:
    """Fetch an item beside all else, but where the program has ended and a job of its goes on: Python begins no thread then."""
    try:
        return threads.submit(get, item).result
    except RuntimeError:
        return partial(get, item)
