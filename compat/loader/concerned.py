"""The jobs that a change concerns: those that used one of its files when they were last built.

The record of used files is kept in the repository's own folder, never in the working tree. It is valid only while the
files in it are unchanged; a job without a record is concerned by everything.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from compat.loader.request import Loads
from compat.loader.revisions import git

FORMAT = 1


class _Known(Struct, frozen=True, kw_only=True):
    """What a job looked at, how it was built then, and what was in the files (empty if there was none)."""

    how: str
    files: dict[str, str]
    names: tuple[str, ...]
    folders: tuple[str, ...]


class _Kept(Struct, kw_only=True):
    """The file of it."""

    format: int
    jobs: dict[str, _Known]


class Concerns:
    """The records of the jobs of a project with its root at ``top``; paths are relative to it."""

    def __init__(self, top: str) -> None:
        self._top = top
        place = os.fsdecode(git("rev-parse", "--git-path", "compat/loads.json", cwd=top)).rstrip("\n")
        self._path = Path(top, place)
        self._jobs: dict[str, _Known] = {}
        with suppress(OSError, msgspec.DecodeError):
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
            self._jobs = kept.jobs if kept.format == FORMAT else {}

    def are(self, job: str, how: str, changed: Iterable[str]) -> bool:
        """Whether a job, built as ``how`` says, is concerned by a change of these files."""
        known = self._jobs.get(job)
        if known is None or known.how != how:
            return True
        if any(path == job or _is_seen(path, known) for path in changed):
            return True
        return any(self._content(path) != content for path, content in known.files.items())

    def knows(self, job: str) -> bool:
        """Whether there is a record for a job."""
        return job in self._jobs

    def remember(self, job: str, how: str, loads: Loads | None) -> None:
        """Record which files a job used; None if that is unknown."""
        if loads is None:
            self._jobs.pop(job, None)
            return
        files = {path: self._content(path) for path in loads.files}
        self._jobs[job] = _Known(how=how, files=files, names=loads.names, folders=loads.folders)

    def keep(self) -> None:
        """Write the records; a repository that cannot be written to is left unchanged."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            temporary.write_bytes(msgspec.json.encode(_Kept(format=FORMAT, jobs=self._jobs)))
            temporary.replace(self._path)

    def _content(self, path: str) -> str:
        try:
            return hashlib.sha256(Path(self._top, path).read_bytes()).hexdigest()
        except OSError:
            return ""


def _is_seen(path: str, known: _Known) -> bool:
    """Whether a job looked at a file, or would if it were there: by a name that it imports, in a folder that it lists."""
    if path in known.files or any(one.startswith(f"{path}/") for one in known.files):  # the latter in a submodule
        return True
    file = PurePosixPath(path)
    if str(file.parent) in known.folders:
        return True
    if file.suffix == ".py" and (file.parent.name if file.stem == "__init__" else file.stem) in known.names:
        return True
    # A folder that is new can be a package of a name that is asked for.
    return any(
        folder.name in known.names and not any(one.startswith(f"{folder}/") for one in known.files)
        for folder in file.parents
    )
