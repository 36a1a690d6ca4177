"""A program as it was at a revision of git, with all of its project: its own modules as they were, never those of today."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

PREFIX = "git:"
GIT_TIMEOUT = 120.0
_SMALL = 1 << 18
_LINK_TO_COMMIT = "160000"
_PLAIN = ("-c", "core.sparseCheckout=false", "-c", "filter.lfs.smudge=cat", "-c", "filter.lfs.process=")
"""Whole trees, and files of LFS as the pointers that they are: nothing is fetched."""


class NoRevision(Exception):
    """There is no such program in git; the message says why."""


class Exported(Struct, frozen=True, kw_only=True):
    """A program of a revision, taken out into a folder.

    ``path`` is its file there, ``folder`` what the working directory was taken out to, ``reference`` the revision as it was
    named, and ``taken_from`` the root of the working tree, empty where the repository has none.
    """

    path: str
    folder: str
    reference: str
    taken_from: str


def export(argument: str, into: str) -> Exported:
    """Take out what ``git:REF:PATH`` names, and its project, into a folder. Raises NoRevision.

    Of what is not below the program's folder, large files are left out that are no Python.
    """
    reference, colon, named = argument.removeprefix(PREFIX).partition(":")
    if not colon or not named or not reference or reference.startswith("-"):
        raise NoRevision(f"{argument!r} names no file at a revision.")
    top, prefix, git_dir = _places()
    path = os.path.relpath(named, top) if os.path.isabs(named) else os.path.normpath(os.path.join(prefix, named))
    try:
        entries = list(_entries(_git("ls-tree", "-r", "-z", "-l", "--full-tree", f"{reference}^{{tree}}")))
    except NoRevision as error:
        raise NoRevision(f"git has no {named!r} at {reference!r}: {error}.") from error
    if path not in (name for name, _ in entries):
        raise NoRevision(f"There is no file {named!r} at {reference!r}.")
    below = os.path.dirname(path)
    wanted = [name for name, size in entries if _wanted(name, size, below)]
    into = os.path.realpath(into)
    with tempfile.TemporaryDirectory(prefix="compat-index-") as folder:
        variables = {"GIT_INDEX_FILE": os.path.join(folder, "index"), "GIT_DIR": git_dir, "GIT_WORK_TREE": into}
        _git(*_PLAIN, "read-tree", f"{reference}^{{tree}}", variables=variables, cwd=into)
        files = b"".join(os.fsencode(name) + b"\0" for name in wanted)
        _git(*_PLAIN, "checkout-index", "-q", "-z", "--stdin", variables=variables, cwd=into, given=files)
    here = os.path.normpath(os.path.join(into, prefix))
    os.makedirs(here, exist_ok=True)
    return Exported(path=os.path.join(into, path), folder=here, reference=reference, taken_from=top)


def _places() -> tuple[str, str, str]:
    """The root of the working tree (empty for none), the working directory in it, and the repository."""
    git_dir = _git("rev-parse", "--absolute-git-dir").decode().rstrip("\n")
    if _git("rev-parse", "--is-inside-work-tree").strip() != b"true":
        return "", "", git_dir
    lines = os.fsdecode(_git("rev-parse", "--show-toplevel", "--show-prefix")).split("\n")
    return lines[0], lines[1], git_dir


def _entries(listing: bytes) -> Iterator[tuple[str, int]]:
    """The files in a listing of ``git ls-tree -l -z``, each with its size in bytes."""
    for entry in filter(None, listing.split(b"\0")):
        head, _, name = entry.partition(b"\t")
        mode, _, _, size = head.decode().split()
        if mode != _LINK_TO_COMMIT:
            yield os.fsdecode(name), int(size)


def _wanted(name: str, size: int, below: str) -> bool:
    return size <= _SMALL or name.endswith(".py") or not below or name.startswith(below + "/")


def _git(
    *arguments: str, variables: Mapping[str, str] | None = None, cwd: str | None = None, given: bytes | None = None
) -> bytes:
    command: Sequence[str] = ("git", *arguments)
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(variables or {})},
            cwd=cwd,
            input=given or b"",
            capture_output=True,
            check=False,
            timeout=GIT_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoRevision(f"git cannot be run: {error}.") from error
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoRevision(reason[-1] if reason else "unknown reason")
    return done.stdout
