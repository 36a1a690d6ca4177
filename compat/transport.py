"""Calls a server over HTTP with the standard library only."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, BinaryIO, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from compat.escaping import visible

T = TypeVar("T")

TIMEOUT = 330.0
MOST_TOLD = 1000
"""Characters of a server's error text that are shown."""

LARGEST, CHUNK = 512 * 1024 * 1024, 1024 * 1024
"""The largest answer that is read, and the bytes read at once."""

PATIENCE = 15.0
"""The seconds for which a server that refuses connections is asked again."""


class ServerError(Exception):
    """A server refused a request or cannot be reached. ``status`` is HTTP's, 0 if there was no answer."""

    def __init__(self, message: str, status: int = 0, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.document = document or {}


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects: a token goes only to the server that the user named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def call(
    url: str,
    path: str,
    kind: type[T],
    *,
    method: str | None = None,
    body: bytes | None = None,
    content_type: str = "application/json",
    token: str | None = None,
) -> T:
    """The answer of the server at ``url`` to a request, decoded to the expected shape. Raises ServerError."""
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = content_type
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        request = Request(url.rstrip("/") + path, data=body, headers=headers, method=method)
        text = exchanged(request, patience=PATIENCE)
    except HTTPError as error:
        raise _refused(url, error) from error
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = visible(str(getattr(error, "reason", None) or error))[:MOST_TOLD]
        raise ServerError(f"{url} does not answer: {reason}.") from error
    return read(text, kind, url)


def read(text: bytes, kind: type[T], url: str) -> T:
    """The answer of a server, decoded to the expected shape. Raises ServerError."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise ServerError(f"{url} is not a compat service, or has another version: {visible(str(error))}.") from error
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{url} is not a compat service: its answer is not JSON.") from error


def exchanged(request: Request, *, patience: float = 0.0, context: ssl.SSLContext | None = None) -> bytes:
    """The body of the answer to a request; redirects are refused. Raises URLError, OSError, HTTPException.

    Waits up to ``patience`` seconds for a server that is starting.
    """
    end = time.monotonic() + patience
    opener = build_opener(_NoRedirect, HTTPSHandler(context=context))
    while True:
        try:
            with opener.open(request, timeout=TIMEOUT) as answer:
                return _body(answer, time.monotonic() + TIMEOUT)
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() >= end:
                raise
            time.sleep(0.2)


def _body(answer: BinaryIO | HTTPError, end: float) -> bytes:
    """The whole body of an answer. Raises OSError if it is too large or takes too long."""
    chunks, size = [], 0
    while chunk := answer.read(CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST:
            raise OSError(f"its answer has more than {LARGEST:,} bytes")
        if time.monotonic() > end:
            raise OSError(f"its answer did not come within {TIMEOUT:g} seconds")
    return b"".join(chunks)


def _refused(url: str, error: HTTPError) -> ServerError:
    try:
        document = msgspec.json.decode(_body(error, time.monotonic() + TIMEOUT), type=dict[str, Any])
    except (ValueError, RecursionError, OSError, HTTPException):
        document = {}
    detail = visible(str(document.get("detail") or f"{url} answers with status {error.code}."))[:MOST_TOLD]
    if error.code == 401:
        detail += " The token is taken from COMPAT_TOKEN or --token-file."
    return ServerError(detail, error.code, document)


def is_address(url: str) -> bool:
    """Whether a URL is the address of a server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
