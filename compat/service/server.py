"""Serving the application with uvicorn: slow connections are closed, and so are those beyond the machine's limit."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from compat.service.telemetry import log
from compat.service.tls import Certificate

MOST_CONNECTIONS = 1000
WANTED_DESCRIPTORS = 8192
BACKLOG = 256
"""Connections that the kernel accepts ahead of us; as many may come at once."""

OTHER_DESCRIPTORS = 150
"""Descriptors for all else: the database, pipes to processes, files."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with time limits: for the begin of a request, for its head, and for the client's reading of the
    answer.

    uvicorn alone would wait for ever.
    """

    head_timeout: float
    write_timeout: float
    most: int
    _deadline: asyncio.TimerHandle | None = None
    _watch: asyncio.TimerHandle | None = None
    _unread, _resumed = 0, False

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= self.most:
            transport.abort()
            _turned_away(self.most)
        super().connection_made(transport)
        self._expect_head()
        self._watch = self.loop.call_later(self.write_timeout, self._look_at_writing)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel()
        elif self._deadline is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        self._resumed = True
        super().resume_writing()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_timeout, self._too_late)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def _look_at_writing(self) -> None:
        """Give up on a client that read nothing since the last look."""
        unread = self.transport.get_write_buffer_size()
        if unread and unread >= self._unread > 0 and not self._resumed:
            self.transport.abort()
            return
        self._unread, self._resumed = unread, False
        self._watch = self.loop.call_later(self.write_timeout, self._look_at_writing)


_last_turned_away = -60.0


def _turned_away(most: int) -> None:
    """Tell, once a minute, that there are too many connections."""
    global _last_turned_away
    now = time.monotonic()
    if now - _last_turned_away >= 60:
        _last_turned_away = now
        log("connections", level="warning", message="there are as many as can be; more are closed", most=most)


def most_connections() -> int:
    """The number of connections that the limit of descriptors allows, after raising that limit as far as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = WANTED_DESCRIPTORS if hard == unlimited else min(hard, WANTED_DESCRIPTORS)
    if soft != unlimited and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft == unlimited:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, soft - BACKLOG - OTHER_DESCRIPTORS))


def serve(
    app: Starlette,
    listener: socket.socket,
    head_timeout: float,
    write_timeout: float = 30.0,
    certificate: Certificate | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; over HTTPS with a ``certificate``.

    A client has ``head_timeout`` seconds to send the head of a request, and must read a part of the answer every
    ``write_timeout`` seconds.
    """
    # An answer leaves in two parts, and by Nagle's algorithm the second waits until the client acknowledges the first: 40 ms.
    # asyncio turns that off only for sockets whose protocol is named.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limits = {"head_timeout": head_timeout, "write_timeout": write_timeout, "most": most_connections()}
    config = uvicorn.Config(
        app,
        http=type("Protocol", (PatientProtocol,), limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=15,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=32 * 1024,
    )
    if certificate is not None:
        config.load()
        config.ssl = certificate.context
    uvicorn.Server(config).run(sockets=[listener])
