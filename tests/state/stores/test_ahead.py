"""Fetched ahead, side by side: in order, bounded, and no more than somebody comes near to."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from compat.state.stores.ahead import MOST, fetched_ahead


class Slow:
    """A storage that counts who asks it at once."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def get(self, item: int) -> int:
        with self._lock:
            self.asked.append(item)
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
        if item < 0:
            raise FileNotFoundError(str(item))
        return item * item


def test_in_order_side_by_side_and_bounded() -> None:
    slow = Slow()
    found = [(item, give()) for item, give in fetched_ahead(slow.get, iter(range(100)), local=False)]
    assert found == [(item, item * item) for item in range(100)]
    assert sorted(slow.asked) == list(range(100))
    assert 4 <= slow.most <= MOST


def test_who_wants_little_has_little_fetched() -> None:
    slow, before = Slow(), set(threading.enumerate())
    with closing(fetched_ahead(slow.get, itertools.count(), local=False)) as found:
        assert next(found)[1]() == 0
        assert slow.asked == [0]
        assert set(threading.enumerate()) <= before, "no thread is begun for one"
        assert next(found)[1]() == 1
        assert len(slow.asked) <= 3


def test_a_failure_is_of_who_asks_for_it() -> None:
    found = list(fetched_ahead(Slow().get, [1, -1, 2], local=False))
    assert found[2][1]() == 4
    with pytest.raises(FileNotFoundError, match="-1"):
        found[1][1]()


def test_here_nothing_is_fetched_before_it_is_asked_for() -> None:
    slow = Slow()
    found = list(fetched_ahead(slow.get, [1, 2], local=True))
    assert slow.asked == []
    assert [give() for _, give in found] == [1, 4]
    assert slow.most == 1


def test_of_nothing_there_is_nothing() -> None:
    assert list(fetched_ahead(Slow().get, [], local=False)) == []


def test_a_job_that_outlives_its_program_fetches_one_after_the_other() -> None:
    """Python begins no thread of a pool once the main thread has ended."""
    program = """
import threading
from compat.state.stores.ahead import fetched_ahead

def job():
    main.join()
    print([give() for _, give in fetched_ahead(lambda number: number, range(5), local=False)])

main = threading.main_thread()
threading.Thread(target=job).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3, 4]\n", "")
