"""Digests of data files, which prove that a file has the contents that were written.

A file has its digest in its name, and the commit that adds it has the name. So the digest stays with the file in every version
and copy of the table, and readers of the table can ignore it. Files from other writers have no digest.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

import mmh3

from compat.state.stores.paths import Place

_NAMED = re.compile(r"part-[0-9a-f]{32}-([0-9a-f]{32})\.parquet")
_PART_BYTES = 4 * 1024 * 1024


class Damaged(OSError):
    """A file whose bytes differ from those that were written."""

    def __init__(self) -> None:
        super().__init__("it is damaged: its bytes are not those that were written")


class DigestingFile:
    """Passes bytes on to an open file, and digests them."""

    closed = False

    def __init__(self, target: Any) -> None:
        self._target, self._digest = target, mmh3.mmh3_x64_128()
        self._size, self._mark = 0, uuid.uuid4().hex

    def write(self, data: Any) -> int:
        """Write bytes."""
        part = memoryview(data).cast("B")
        self._digest.update(part)
        self._target.write(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        """The number of bytes written."""
        return self._size

    def flush(self) -> None:
        """Flush the written bytes."""
        self._target.flush()

    @property
    def name(self) -> str:
        """A unique name for the file, with the digest of its contents."""
        return f"part-{self._mark}-{self._digest.digest().hex()}.parquet"


def prove_bytes(path: str, data: bytes) -> None:
    """Raise Damaged unless these bytes have the digest in the data file's name."""
    told = _digest_in(path)
    if told is not None and told != mmh3.mmh3_x64_128_digest(data).hex():
        raise Damaged


def prove_file(place: Place) -> None:
    """Raise Damaged unless the file has the digest in its name; it is read in parts. Raises OSError."""
    told = _digest_in(place.path)
    if told is None:
        return
    digest = mmh3.mmh3_x64_128()
    with place.open() as file:
        while part := file.read(_PART_BYTES):
            digest.update(part)
    if digest.digest().hex() != told:
        raise Damaged


def _digest_in(path: str) -> str | None:
    found = _NAMED.fullmatch(path.rpartition("/")[2])
    return None if found is None else found[1]
