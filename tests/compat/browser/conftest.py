"""A real browser. Every page is watched: an error in its console or a request to another host fails the test."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import needs
from tests.needs import Need

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT = 30_000
"""Milliseconds that anything on a page may take; the machine may have other things to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent) + os.sep
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")  # while it lives, the thread has an event loop that other tests could not have
def browser() -> Iterator[Any]:
    playwright = needs.module("playwright.sync_api", "browser")
    if CHROMIUM is None:
        needs.without(Need.BROWSER)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a window of its own; ``problems`` are gathered and must be none at the end."""
    problems: list[str] = []
    contexts = []

    def open_one(address: str, *, width: int = 1280, height: int = 860, errors: bool = True, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        page = context.new_page()
        host = urlsplit(address).netloc

        def on_console(message: Any) -> None:
            if message.type in ("error", "warning") and errors:
                problems.append(f"console: {message.text}")

        def on_request(request: Any) -> None:
            parts = urlsplit(request.url)
            if parts.scheme not in ("file", "blob", "data") and parts.netloc != host:
                problems.append(f"request: {request.url}")

        page.on("console", on_console)
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", on_request)
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        if options.get("java_script_enabled", True):
            with contextlib.suppress(LookupError):
                settle(page)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert problems == []


def follow(page: Any, what: Any) -> None:
    """Click what leads to another page, and wait until that page is there: a click alone may return before it."""
    with page.expect_navigation():
        what.click()


def settle(page: Any) -> None:
    """Wait until the view shows what its address says."""
    if page.locator(".stage").count():
        page.wait_for_function(
            "() => [...document.querySelectorAll('.section')].some(e => !e.hidden && "
            "(e.dataset.ready === (location.hash || '#') || !e.querySelector('.stage')))"
        )


def cut_times(page: Any) -> list[str]:
    """The times that a page shows on several lines, or beyond what is in sight of their table."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('main time')].filter(time => {
            const frame = (time.closest('.scroll') || document.documentElement).getBoundingClientRect();
            return time.getClientRects().length !== 1 || time.getBoundingClientRect().right > frame.right;
        }).map(time => time.closest('tr, dl, p').innerText)"""
    )
    return found
