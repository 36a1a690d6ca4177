"""What the server keeps in memory stays within what it says, however much is asked of it."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from compat.service import caches, memory, worker
from compat.service.caches import MEGABYTE, Kept
from compat.service.context import page_of
from compat.service.decisions import Decisions
from compat.service.options import Options
from compat.service.records import CheckSide, Plan
from compat.service.registry.packing import pack
from compat.service.registry.plans import PackedPlan
from compat.service.requests import CheckRequest, Reference
from compat.service.revalidation import Revalidation


def growth(fill):
    """Bytes that are held after ``fill``, and not before."""
    gc.collect()
    tracemalloc.start()
    held = fill()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del held
    return grown


def text_of(number, size):
    """A text of that size that deflates to some tenth."""
    return (f"finding {number} " * size)[:size].encode()


def checked(number):
    """A check of two plans, as a process makes it."""
    report = text_of(number, 16_000)
    plans = tuple(
        PackedPlan(
            Plan(digest=f"{number:063}{side}", job_name="job", flink="2.3", operators=9, size=9), text_of(side, 2000)
        )
        for side in range(2)
    )
    sides = [CheckSide(label=f"job {number}", kind="plan", digest=one.plan.digest) for one in plans]
    return worker.Checked(
        record=True, job=None, old=sides[0], new=sides[1], verdict="compatible", sentence=f"It does {number}.", errors=0,
        warnings=0, commit=None, author=None, seconds=0.1, report=report, packed_report=pack(report), options="o", plans=plans,
        accepted=(),
    )  # fmt: skip


def asked(number):
    sent = [Reference(plan=f"{number} {side}".encode(), label=f"job {number}") for side in "ab"]
    return CheckRequest(old=sent[0], new=sent[1], options=Options(), record=True, commit=None, author=None)


def decisions(monkeypatch, most):
    monkeypatch.setattr("compat.service.decisions.REPORTS", most)
    monkeypatch.setattr("compat.service.decisions.PLANS", most)
    return Decisions(None)


def test_decisions_take_what_they_say(monkeypatch):
    def fill():
        known = decisions(monkeypatch, MEGABYTE)
        for number in range(1500):
            known.remember(asked(number), checked(number))
        return known

    assert growth(fill) < 2 * MEGABYTE * 1.25


def test_what_is_kept_of_a_decision_is_the_decision(monkeypatch):
    known = decisions(monkeypatch, MEGABYTE)
    made = replace(checked(1), options=Options().key)
    known.remember(asked(1), made)
    assert known.find(asked(1)) == made


@pytest.mark.parametrize("character", ["a", "\u2013", "\U0001f600"])
def test_pages_take_what_they_say_whatever_they_are_written_in(character):
    parts = SimpleNamespace(pages=Kept(MEGABYTE), underway={}, pools=None, turn=asyncio.Semaphore(1))
    request = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(service=parts)))

    def made(number):
        return f"{number}" + character * 9000

    async def ask():
        for number in range(300):
            await page_of(request, number, made, number, size=0, here=True)

    def fill():
        asyncio.run(ask())
        return parts

    assert growth(fill) < MEGABYTE * 1.25


def test_answers_take_what_they_say(monkeypatch):
    monkeypatch.setattr("compat.service.revalidation.ANSWERS", MEGABYTE)
    database = SimpleNamespace(at_once=True, state=lambda: 1, look=lambda *_, **__: None)

    async def app(scope, receive, send):
        headers = [(b"content-type", b"application/json"), (b"content-length", b"3000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": scope["query_string"] * 300})

    async def ask(kept):
        async def sent(_):
            pass

        for number in range(2000):
            query = f"{number:010}".encode()
            scope = {"type": "http", "method": "GET", "path": "/api/v1/jobs", "query_string": query, "headers": []}
            await kept(scope, None, sent)

    def fill():
        kept = Revalidation(app, database)
        asyncio.run(ask(kept))
        return kept

    assert growth(fill) < MEGABYTE * 1.25


def test_all_that_is_kept_is_known_and_below_what_the_server_is_given():
    amounts = (caches.PAGES, caches.ANSWERS, caches.REPORTS, caches.PLANS, caches.VERSIONS * caches.ENTRY)
    assert memory.KEPT == sum(amounts) < 110 * MEGABYTE
    assert memory.SERVER < 320 * MEGABYTE
