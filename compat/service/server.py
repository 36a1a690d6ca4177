"""Serving the application with uvicorn; slow connections are closed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 1000


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which closes a connection whose request does not begin, or whose head does not end, in time.

    uvicorn itself would wait for ever.
    """

    head_timeout: float
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel()
        elif self._deadline is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

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


def serve(app: Starlette, listener: socket.socket, head_timeout: float) -> None:
    """Serve until SIGINT or SIGTERM. A client has ``head_timeout`` seconds to send the head of a request."""
    config = uvicorn.Config(
        app,
        http=type("Protocol", (PatientProtocol,), {"head_timeout": head_timeout}),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=15,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=32 * 1024,
    )
    uvicorn.Server(config).run(sockets=[listener])
