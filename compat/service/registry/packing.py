"""JSON in the form of the tables: canonical, deflated."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Any

import msgspec

LEVEL = 1
"""The compression level: plans and reports repeat themselves so much that more effort gains little."""


def canonical(value: Any) -> bytes:
    """The one text of a JSON value: keys sorted, no spaces, UTF-8."""
    return msgspec.json.encode(value, order="sorted")


def digest_of(text: bytes) -> str:
    """The name of a canonical text: its SHA-256 in hex digits."""
    return sha256(text).hexdigest()


def pack(text: bytes) -> bytes:
    """``text`` deflated."""
    return zlib.compress(text, LEVEL)


def unpack(data: bytes) -> bytes:
    """The text that :func:`pack` was given."""
    return zlib.decompress(data)
