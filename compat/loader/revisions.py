"""A program as it was at a revision of git, with all of its project: its own modules as they were, never those of today."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

PREFIX = "git:"
GIT_TIMEOUT = 120.0
_SMALL = 1 << 18
_COMMIT = re.compile(r"[0-9a-f]{8,64}")
_NAMED_COMMIT = re.compile(r"(\bgit(?::|&#58;)[0-9a-f]{7}|(?<=')[0-9a-f]{7})[0-9a-f]{33,57}(?=[:'])")
_LINK_TO_COMMIT = "160000"
_PLAIN = ("-c", "core.sparseCheckout=false", "-c", "filter.lfs.smudge=cat", "-c", "filter.lfs.process=")
"""Whole trees, and files of LFS as the pointers that they are: nothing is fetched."""


class NoRevision(Exception):
    """There is no such program in git; the message says why."""


class NoSuchFile(NoRevision):
    """The revision is there, and has no such file."""


class Exported(Struct, frozen=True, kw_only=True):
    """A program of a revision, taken out into a folder.

    ``path`` is its file there, ``folder`` the exported working directory, ``reference`` the revision as the user named it, and
    ``taken_from`` the root of the working tree, empty if the repository has none.
    """

    path: str
    folder: str
    reference: str
    taken_from: str


def export(argument: str, into: str) -> Exported:
    """Take out what ``git:REF:PATH`` names, and its project, into a folder. Raises NoRevision.

    Large files that are no Python are left out where they are not below the program's folder.
    """
    reference, colon, named = argument.removeprefix(PREFIX).partition(":")
    if not colon or not named or not reference or reference.startswith("-"):
        raise NoRevision(f"{argument!r} names no file at a revision.")
    top, prefix, git_dir = places()
    path = os.path.relpath(named, top) if os.path.isabs(named) else os.path.normpath(os.path.join(prefix, named))
    try:
        entries = files_at(reference)
    except NoRevision as error:
        raise NoRevision(f"git has no {named!r} at {reference!r}: {why_unknown(reference) or error}") from error
    if path not in entries:
        raise NoSuchFile(f"There is no file {named!r} at {reference!r}.")
    _fetch_what_is_lacking(reference)
    below = os.path.dirname(path)
    sizes = _sizes(entries.values())
    wanted = [name for name, object_id in entries.items() if _wanted(name, sizes[object_id], below)]
    into = os.path.realpath(into)
    with tempfile.TemporaryDirectory(prefix="compat-index-") as folder:
        variables = {"GIT_INDEX_FILE": os.path.join(folder, "index"), "GIT_DIR": git_dir, "GIT_WORK_TREE": into}
        git(*_PLAIN, "read-tree", f"{reference}^{{tree}}", variables=variables, cwd=into)
        files = b"".join(os.fsencode(name) + b"\0" for name in wanted)
        git(*_PLAIN, "checkout-index", "-q", "-z", "--stdin", variables=variables, cwd=into, given=files)
    here = os.path.normpath(os.path.join(into, prefix))
    os.makedirs(here, exist_ok=True)
    return Exported(path=os.path.join(into, path), folder=here, reference=reference, taken_from=top)


def revision_of(name: str) -> tuple[str | None, str]:
    """The revision and the file that ``git:REF:PATH`` names; no revision for a plain file. Ids of commits have seven digits."""
    if not name.startswith(PREFIX):
        return None, name
    reference, _, path = name.removeprefix(PREFIX).partition(":")
    return reference[:7] if _COMMIT.fullmatch(reference) else reference, path


def revision_prefix(name: str) -> str:
    """``git:REF:`` of what is named ``git:REF:PATH``; empty for a plain file."""
    return name[: name.index(":", len(PREFIX)) + 1] if name.startswith(PREFIX) and name.count(":") > 1 else ""


def short_revisions(text: str) -> str:
    """``text`` with seven digits of each id of a commit that names a file."""
    return _NAMED_COMMIT.sub(r"\1", text)


def places() -> tuple[str, str, str]:
    """The root of the working tree (empty for none), the working directory in it, and the repository."""
    git_dir = git("rev-parse", "--absolute-git-dir").decode().rstrip("\n")
    if git("rev-parse", "--is-inside-work-tree").strip() != b"true":
        return "", "", git_dir
    lines = os.fsdecode(git("rev-parse", "--show-toplevel", "--show-prefix")).split("\n")
    return lines[0], lines[1], git_dir


def why_unknown(reference: str) -> str | None:
    """Why git has no such revision here, and what to do about it; None for one that it has. Raises NoRevision without git."""
    try:
        if reference and not reference.startswith("-"):
            git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
            return None
    except NoRevision:
        pass
    try:
        shallow = git("rev-parse", "--is-shallow-repository").strip() == b"true"
    except NoRevision as error:
        if "not a git repository" not in str(error):
            raise
        return "there is no git repository here, and so no revision to look at: name OLD as a file instead."
    known = f"git knows no revision {reference!r} here."
    if not shallow:
        return known
    return (
        f"{known} This is a shallow clone, which has the last commits only: fetch the others, with fetch-depth: 0 for "
        "actions/checkout, or git fetch --unshallow."
    )


def is_unborn() -> bool:
    """Whether there is a repository, and no commit in it yet."""
    try:
        return not git("rev-list", "-n", "1", "--all")
    except NoRevision:
        return False


def files_at(reference: str) -> dict[str, str]:
    """The files of a revision by their paths from the root, with the ids of their contents. Raises NoRevision."""
    files = {}
    for entry in filter(None, git("ls-tree", "-r", "-z", "--full-tree", f"{reference}^{{tree}}").split(b"\0")):
        head, _, name = entry.partition(b"\t")
        mode, _, object_id = head.decode().split()
        if mode != _LINK_TO_COMMIT:
            files[os.fsdecode(name)] = object_id
    return files


def text_at(reference: str, path: str) -> bytes:
    """What a file held at a revision; ``path`` is from the root. Raises NoRevision."""
    return git("cat-file", "blob", f"{reference}:{path}")


def _fetch_what_is_lacking(reference: str) -> None:
    """Fetch in one go what a partial clone lacks of a revision: git would ask for each file alone. Raises NoRevision."""
    try:
        told = git("config", "--get-regexp", r"^remote\..*\.promisor$").decode().split()
    except NoRevision:
        return  # no partial clone
    remote = told[0].removeprefix("remote.").removesuffix(".promisor")
    listed = git("rev-list", "--objects", "--missing=print", f"{reference}^{{tree}}").splitlines()
    lacking = b"".join(line[1:] + b"\n" for line in listed if line.startswith(b"?"))
    if lacking:
        options = ("--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin")
        try:
            git("-c", "fetch.negotiationAlgorithm=noop", "fetch", "-q", remote, *options, given=lacking)
        except NoRevision as error:
            raise NoRevision(
                f"This is a partial clone, and the files of {reference!r} cannot be fetched from {remote!r}: {error}. "
                "Clone it without --filter, or with fetch-depth: 0 and no filter for actions/checkout."
            ) from error


def _sizes(objects: Iterable[str]) -> dict[str, int]:
    """The sizes in bytes of contents, by their ids, read at once."""
    ids = list(dict.fromkeys(objects))
    told = git("cat-file", "--batch-check=%(objectsize)", given="".join(f"{one}\n" for one in ids).encode())
    return {one: int(size) if size.isdigit() else 0 for one, size in zip(ids, told.decode().splitlines(), strict=True)}


def _wanted(name: str, size: int, below: str) -> bool:
    return size <= _SMALL or name.endswith(".py") or not below or name.startswith(below + "/")


def git(
    *arguments: str, variables: Mapping[str, str] | None = None, cwd: str | None = None, given: bytes | None = None
) -> bytes:
    """What a command of git says. Raises NoRevision with its last words."""
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
