"""The version from which a state backend converts values when a time to live is switched on or off.

With a time to live each value is kept beside the time of its last use. Flink: ``TtlAwareSerializer``, which RocksDB's backend
uses since 2.1 and the heap's since 2.2 (``HeapKeyedStateBackend``: 2.1 still refuses). ForSt never migrates values in that way.
Restores in 1.20, 2.0, 2.1, 2.2 and 2.3 confirmed this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from compat.state.flink.formats import FORST, HEAP, ROCKSDB, backend_of

TTL_MIGRATES_SINCE: Mapping[str, tuple[int, int] | None] = {HEAP: (2, 2), ROCKSDB: (2, 1), FORST: None}
"""The first version of Flink by backend; None if no version does."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?!\d)")


def version_of(flink: str) -> tuple[int, int] | None:
    """Major and minor number of a version such as ``2.3`` or ``1.20.0``; None for anything else."""
    found = _VERSION.match(flink)
    return None if found is None else (int(found[1]), int(found[2]))


def ttl_migrates(flink: str, backend: str | None) -> bool | None:
    """Whether a backend of a version of Flink converts the values; None if that depends on a backend that is not told.

    ``backend`` is a value of ``state.backend.type``, None if a program sets none. Nothing is known of other people's.
    """
    known = None if backend is None else backend_of(backend)
    version = version_of(flink)
    candidates = (HEAP, ROCKSDB) if backend is None else (HEAP, ROCKSDB, FORST) if known is None else (known,)
    if version is None:
        return None
    answers = {since is not None and version >= since for since in map(TTL_MIGRATES_SINCE.__getitem__, candidates)}
    return answers.pop() if len(answers) == 1 else None
