"""Seals, which prove that a version of a table has the files that it was committed with.

Delta still reads a commit that was emptied, or in which a bit has flipped. Then files are missing, or count as files of other
epochs or key groups. So each of our commits has a digest of its own contents, and of all files in the table after it, including
those of former commits. The digests of the files are added up: a commit makes the sum from the last one and its own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import mmh3

from compat.state.delta.reading import LogFile

SEAL = "seal"
"""The name of the seal among a commit's properties."""
_MODULUS = 1 << 128


def sum_of(files: Iterable[LogFile], removed: Iterable[LogFile] = (), base: int = 0) -> int:
    """The sum of the digests of some files, which are added to those of a sum, or removed from it."""
    found = base + sum(map(_digest, files)) - sum(map(_digest, removed))
    return found % _MODULUS


def _digest(file: LogFile) -> int:
    told = (file.path, file.rows, file.size, file.operators, file.key_groups, file.epochs)
    return int(mmh3.hash128(repr(told).encode()))


def seal_of(version: int, files: int, epoch: int, told: Mapping[str, str]) -> str:
    """The seal of what is committed as a version, with that sum of its files, at an epoch: the version, the names of what it
    tells, and the digest of all that.
    """
    names = sorted(name for name in told if name != SEAL)
    text = repr((version, files, epoch, [(name, told[name]) for name in names]))
    return f"{version} {','.join(names)} {mmh3.hash128(text.encode()):032x}"


def is_of(seal: str, version: int) -> bool:
    """False for the seal of a commit that follows another process's, which it did not know of."""
    return seal.partition(" ")[0] == str(version)


def is_whole(seal: str, version: int, files: int, epoch: int, entry: Mapping[str, object]) -> bool:
    """True if a version is as it was sealed; ``entry`` is the commit in Delta's history."""
    names = seal.split(" ")[1].split(",") if seal.count(" ") == 2 else []
    told = {name: str(entry[name]) for name in names if name in entry}
    return seal == seal_of(version, files, epoch, told)
