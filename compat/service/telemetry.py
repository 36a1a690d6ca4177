"""Structured logs and metrics.

A log line is one JSON object on standard error, so a name from a client stays inside a string.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import OrderedDict
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGGER = logging.getLogger("compat.service")
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


def log(event: str, level: str = "info", **fields: Any) -> None:
    """Write one line: what happened, and values of interest."""
    number = _LEVELS[level]
    if LOGGER.isEnabledFor(number):
        line = {"time": round(time.time(), 3), "level": level, "event": event, **fields}
        text = json.dumps(line, default=str)
        LOGGER.handle(logging.LogRecord(LOGGER.name, number, __file__, 0, text, None, None))  # nobody asks who called


def log_to_stderr() -> None:
    """Send the service's lines and its libraries' warnings to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    handler.addFilter(_OnceAMinute())
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    LOGGER.addHandler(handler)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)


class _OnceAMinute(logging.Filter):
    """One line a minute of what a library says again and again; all of our own lines."""

    MOST = 100
    """Different messages that are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._said: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == LOGGER.name:
            return True
        message = (record.name, str(record.msg))
        last, more = self._said.pop(message, (-60.0, 0))
        again = record.created - last < 60
        self._said[message] = (last, more + 1) if again else (record.created, 0)
        if len(self._said) > self.MOST:
            self._said.popitem(last=False)
        if not again and more:
            record.msg, record.args = f"{record.getMessage()} ({more} times more in between)", ()
        return not again


class _Lines(logging.Formatter):
    """One JSON object a line, for our own records and those of libraries alike."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == LOGGER.name:
            return record.getMessage()
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return json.dumps(
            {"time": round(record.created, 3), "level": record.levelname.lower(), "event": record.name, "message": text}
        )


class Metrics:
    """The metrics, for Prometheus. Labels are few and never a client's text; a route's label is its template."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "compat_requests", "Requests by route, method and status.", ("route", "method", "status"),
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "compat_request_seconds", "Time from a request's head to its answer's end, by route.", ("route",),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.checks = Counter("compat_checks", "Checks by verdict.", ("verdict",), registry=self.registry)
        self.check_seconds = Histogram(
            "compat_check_seconds", "Time of the check itself.", buckets=_BUCKETS, registry=self.registry
        )
        self.pushed = Counter("compat_versions_pushed", "Versions that were registered.", registry=self.registry)
        self.promoted = Counter(
            "compat_promotions", "Promotions by outcome: promoted, forced, refused.", ("outcome",),
            registry=self.registry,
        )  # fmt: skip
        self.waiting = Gauge("compat_tasks_waiting", "Tasks given to processes and not done.", registry=self.registry)
        self.savepoints = Gauge("compat_savepoints", "Savepoints in the folders.", registry=self.registry)
        self.scanned = Gauge(
            "compat_last_scan_timestamp_seconds", "When the folders were last looked through.", registry=self.registry
        )
        self.backed_up = Gauge(
            "compat_last_backup_timestamp_seconds", "When the registry was last exported.", registry=self.registry
        )


class Telemetry:
    """ASGI middleware: one log line and one observation for each request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def remember(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, remember)
        finally:
            took = time.perf_counter() - started
            route = scope.get("state", {}).get("route", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "PUT", "DELETE") else "other"
            self._metrics.requests.labels(route, method, str(status)).inc()
            self._metrics.seconds.labels(route).observe(took)
            identity = scope.get("state", {}).get("identity")
            log(
                "request",
                method=method,
                path=scope["path"][:500],
                status=status,
                ms=round(took * 1000, 2),
                by=None if identity is None else identity.name,
                client=(scope.get("client") or ("", 0))[0],
            )
