"""Git's record of a working tree since a revision: changed, removed and renamed files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping

from msgspec import Struct

from compat.loader.revisions import PREFIX, git


class Changes(Struct, frozen=True, kw_only=True):
    """The files that differ between a revision and the working tree, by their paths from its root ``top``.

    ``renamed`` maps renamed files to their former names, ``removed`` are the removed files, and ``paths`` all that
    differ, by their former and their present names.
    """

    top: str
    renamed: Mapping[str, str]
    removed: frozenset[str]
    paths: frozenset[str]


def changes_since(reference: str) -> Changes:
    """What differs from a revision, as ``git diff -M`` tells it, with files that git does not track yet. Raises NoRevision."""
    top = os.fsdecode(git("rev-parse", "--show-toplevel")).rstrip("\n")
    index = os.path.join(top, os.fsdecode(git("rev-parse", "--git-path", "index", cwd=top)).rstrip("\n"))
    with tempfile.TemporaryDirectory(prefix="compat-index-") as folder:
        copy = os.path.join(folder, "index")
        if os.path.exists(index):
            shutil.copyfile(index, copy)
        variables = {"GIT_INDEX_FILE": copy, "GIT_LITERAL_PATHSPECS": "1"}
        new = git("ls-files", "-z", "--others", "--exclude-standard", cwd=top, variables=variables)
        if new:
            from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
            git("add", "--intent-to-add", *from_stdin, cwd=top, variables=variables, given=new)
        told = git("diff", "-M", "--name-status", "-z", "--no-ext-diff", reference, "--", cwd=top, variables=variables)
    return _changes(top, iter([os.fsdecode(field) for field in told.split(b"\0")[:-1]]))


def _changes(top: str, fields: Iterator[str]) -> Changes:
    renamed, removed, paths = {}, set(), set()
    for status in fields:
        path = next(fields)
        paths.add(path)
        if status.startswith(("R", "C")):
            now = next(fields)
            renamed[now] = path
            paths.add(now)
        elif status == "D":
            removed.add(path)
    return Changes(top=top, renamed=renamed, removed=frozenset(removed), paths=frozenset(paths))


def is_past_of(past: str, now: str) -> bool:
    """Whether ``git:REF:path`` names a former version of a file of the working tree."""
    if not past.startswith(PREFIX) or now.startswith(PREFIX):
        return False
    return os.path.abspath(past.removeprefix(PREFIX).partition(":")[2]) == os.path.abspath(now)


def renamed(past: str) -> str | None:
    """``git:REF:path`` with the file's name at the revision; None for a new file. Raises NoRevision."""
    reference, _, path = past.removeprefix(PREFIX).partition(":")
    changes = changes_since(reference)
    before = changes.renamed.get(os.path.relpath(os.path.realpath(path), os.path.realpath(changes.top)))
    return None if before is None else f"{PREFIX}{reference}:{os.path.relpath(os.path.join(changes.top, before))}"


def reference_of(past: str) -> str:
    """The revision in ``git:REF:path``."""
    return past.removeprefix(PREFIX).partition(":")[0]
