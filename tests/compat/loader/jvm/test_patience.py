"""Patience with a thread: what waits is given up in time, what computes later, what gets no processor never."""

import multiprocessing
import os
import sys
import threading
import time

from compat.loader.jvm.patience import Account, FairClock, Patience, account_of, kept_from_work
from tests import needs
from tests.needs import Need


def given_up(seconds, *ticks):
    """After which tick a thread is given up; each is how long it took, and the account of the thread in it."""
    now, told = [0.0], [Account(0.0)]
    patience = Patience(seconds, lambda: told[0], lambda: now[0])
    for number, (took, account) in enumerate(ticks, start=1):
        now[0] += took
        before = told[0]
        told[0] = Account(before.ran + account.ran, before.kept + account.kept, account.at_work)
        if patience.is_over():
            return number, str(patience)
    return None


TICK = 1 / 16
WAITS = (TICK, Account(0.0))
COMPUTES = (TICK, Account(TICK, 0.0, True))
STARVES = (TICK, Account(TICK / 256, TICK, True))


def test_one_that_waits_gets_its_time():
    assert given_up(1.0, *[WAITS] * 20) == (16, "1 seconds")


def test_one_that_computes_gets_more():
    assert given_up(1.0, *[COMPUTES] * 100) == (64, "4 seconds of computing")


def test_one_that_gets_no_processor_is_waited_for():
    assert given_up(1.0, *[STARVES] * 10_000) is None


def test_one_that_got_no_processor_before_it_waited_has_its_whole_time_still():
    assert given_up(1.0, *[STARVES] * 500, *[WAITS] * 20) == (516, "1 seconds")


def test_between_two_looks_it_may_have_worked():
    asleep_now = (TICK, Account(TICK / 2, TICK / 2, False))
    assert given_up(1.0, *[asleep_now] * 100) is None


def test_a_machine_that_stood_still_is_not_its_fault():
    assert given_up(1.0, (3600.0, Account(0.0)), *[WAITS] * 20) == (14, "1 seconds")


linux = needs.unless(sys.platform == "linux" and account_of(os.getpid()) is not None, Need.ACCOUNTS)


def test_seconds_without_a_processor_do_not_count_for_a_program():
    now, kept = [100.0], [7.0]
    clock = FairClock(lambda: kept[0], lambda: now[0])
    now[0], kept[0] = 130.0, 27.0
    assert clock.seconds == 10
    now[0], kept[0] = 140.0, 47.0
    assert clock.seconds == 10  # at least a quarter counts
    now[0], kept[0] = 140.0, 0.0  # a process that ended tells nothing more
    assert clock.seconds == 47


@linux
def test_a_thread_that_sleeps_is_not_kept_from_work():
    thread = threading.get_native_id()
    before = kept_from_work(os.getpid(), thread)
    time.sleep(0.2)
    assert kept_from_work(os.getpid(), thread) - before < 0.2
    assert kept_from_work(os.getpid(), 1 << 30) == 0


@linux
def test_a_thread_that_sleeps_is_not_at_work():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        time.sleep(0.05)
        account = account_of(thread.native_id)
        assert account is not None
        assert not account.at_work
    finally:
        done.set()
        thread.join()


def _spin(processor):
    os.sched_setaffinity(0, {processor})
    while True:
        pass


@linux
def test_a_starved_thread_is_waited_for(flink, java):
    """In a process of its own, which has a JVM: another one keeps its thread from the processor for three times its time."""
    processor = min(os.sched_getaffinity(0))
    spinning = multiprocessing.get_context("spawn").Process(target=_spin, args=(processor,), daemon=True)
    spinning.start()
    asked = multiprocessing.get_context("spawn").Queue()
    waiting = multiprocessing.get_context("spawn").Process(
        target=_starved, args=(processor, str(java.library), flink.classpath, asked)
    )
    waiting.start()
    try:
        assert asked.get(timeout=120) == ["did not end within 0.4 seconds", "done"]
    finally:
        spinning.kill()
        waiting.join(30)


def _starved(processor, library, classpath, answer):
    import jpype

    from compat.loader.jvm.harness import Bounds, OperatorFailed, bounded

    jpype.startJVM(library, classpath=list(classpath))
    bounds = Bounds(loader=None, timeout=0.4)
    said = []
    try:
        bounded(lambda: time.sleep(60), bounds, "It")
    except OperatorFailed as error:
        said.append(str(error).removeprefix("It "))

    def work():
        os.sched_setaffinity(threading.get_native_id(), {processor})
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE, os.sched_param(0))
        end = time.monotonic() + 3 * bounds.timeout
        while time.monotonic() < end:
            pass
        return "done"

    said.append(bounded(work, bounds, "It"))
    answer.put(said)
