"""Downloads the files that Apache Ivy will ask a repository for, in parallel and in advance.

Ivy asks for one file after the other, some six hundred times for a Flink. Here the files of all dependencies, as their poms
declare them, are fetched into a folder in the layout of a Maven repository. Ivy decides which versions belong together:
it asks the repository itself for files that are missing in the folder.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from queue import SimpleQueue
from typing import IO
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, fromstring

from msgspec import Struct
from msgspec.structs import replace

_AT_ONCE = 8
_SECONDS = 10
"""The time limit for an answer of the repository: then Ivy, which may know a way around it, asks itself."""
_FOLLOWED = ("", "compile", "runtime")
"""The scopes of dependencies that a job has at run time."""
_PROPERTY = re.compile(r"\$\{([^}]+)\}")
_DEPTH = 8
"""The largest nesting of properties within properties."""
_PLAIN = re.compile(r"\w[\w.+-]*|\*")
"""The allowed form of a name or a version: no ranges of versions, and no paths out of a folder."""
_ANY = "*"


class Coordinates(Struct, frozen=True):
    """A jar of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str = ""

    def path(self, ending: str) -> str:
        """The path of one of its files in the repository."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.name}-{self.version}{ending}"

    @property
    def jar(self) -> str:
        """The path of the jar in the repository."""
        return self.path(f"-{self.classifier}.jar" if self.classifier else ".jar")


class Wanted(Struct, frozen=True):
    """A jar to download: whether with its dependencies, and which groups and names of these to exclude."""

    jar: Coordinates
    followed: bool = True
    excluded: frozenset[tuple[str, str]] = frozenset()

    def excludes(self, one: Coordinates) -> bool:
        """True if a dependency is excluded."""
        return bool(self.excluded & {(one.group, one.name), (one.group, _ANY), (_ANY, _ANY)})


class _Dependency(Struct, frozen=True):
    wanted: Wanted
    scope: str


class _Pom(Struct, frozen=True, kw_only=True):
    """What a pom says, with all that it has of its parents. ``managed`` are versions and scopes of dependencies."""

    properties: dict[str, str]
    managed: dict[tuple[str, str], _Dependency]
    dependencies: tuple[_Dependency, ...]


class NotThere(Exception):
    """The repository has neither a pom nor a jar for the coordinates."""


def fetch_ahead(wanted: Iterable[Wanted], root: str, folder: Path) -> None:
    """Download jars, and their dependencies, into a folder.

    Raises NotThere for a missing jar; OSError, HTTPException and ParseError if the repository does
    not answer, or not as it should.
    """
    with ThreadPoolExecutor(_AT_ONCE) as readers, ThreadPoolExecutor(_AT_ONCE) as downloads:
        repository = _Repository(root, folder, downloads)
        try:
            wave = list(wanted)
            known: set[Coordinates] = set()
            while wave:
                found = list(readers.map(repository.dependencies, wave))
                if not known:
                    repository.must_have(one.jar for one in wave)
                known.update(one.jar for one in wave)
                wave = list({one.jar: one for some in found for one in some if one.jar not in known}.values())
            repository.finish()
        finally:
            downloads.shutdown(cancel_futures=True)
            repository.close()


class _Repository:
    """A repository whose files are fetched once each, into a folder."""

    def __init__(self, root: str, folder: Path, downloads: ThreadPoolExecutor) -> None:
        address = urlsplit(root)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        self._path = address.path.rstrip("/")
        self._folder, self._downloads = folder, downloads
        self._files: dict[str, Future[Path | None]] = {}
        self._poms: dict[Coordinates, _Pom | None] = {}
        self._lock = threading.Lock()
        self._idle: SimpleQueue[HTTPConnection] = SimpleQueue()
        for _ in range(_AT_ONCE):
            self._idle.put(kind(address.hostname or "", address.port, timeout=_SECONDS))

    def must_have(self, jars: Iterable[Coordinates]) -> None:
        """Raises NotThere for a jar of which there is no pom either."""
        for jar in jars:
            if all(self._file(path).result() is None for path in (jar.path(".pom"), jar.jar)):
                raise NotThere(f"{jar.group}#{jar.name};{jar.version}")

    def finish(self) -> None:
        """Wait until all files are there."""
        for file in self._files.values():
            file.result()

    def dependencies(self, wanted: Wanted) -> list[Wanted]:
        """What a jar depends on, which is being fetched itself."""
        self._file(wanted.jar.jar)
        pom = self._pom(wanted.jar)
        if pom is None or not wanted.followed:
            return []
        return [
            replace(one.wanted, excluded=one.wanted.excluded | wanted.excluded)
            for one in (_managed(dependency, pom) for dependency in pom.dependencies)
            if one.scope in _FOLLOWED and one.wanted.jar.version and not wanted.excludes(one.wanted.jar)
        ]

    def _pom(self, of: Coordinates) -> _Pom | None:
        if of not in self._poms:  # two that read the same one read the same
            file = self._file(of.path(".pom")).result()
            self._poms[of] = None if file is None else self._read(of, fromstring(file.read_bytes()))
        return self._poms[of]

    def _read(self, of: Coordinates, project: Element) -> _Pom:
        """A pom; what its parents say holds for it, too."""
        above = project.find("{*}parent")
        named = of if above is None else _coordinates(above, {})
        parent = None if named == of or not named.version else self._pom(named)
        properties = dict(parent.properties) if parent else {}
        for entry in project.iterfind("{*}properties/*"):
            properties[entry.tag.rpartition("}")[2]] = (entry.text or "").strip()
        for prefix in ("project.", "pom.", ""):
            properties |= {f"{prefix}groupId": of.group, f"{prefix}version": of.version}
            properties[f"{prefix}parent.version"] = named.version
        managed = dict(parent.managed) if parent else {}
        for one in _dependencies(project.iterfind("{*}dependencyManagement/{*}dependencies/*"), properties):
            imported = self._pom(one.wanted.jar) if one.scope == "import" and one.wanted.jar.version else None
            managed |= imported.managed if imported else {(one.wanted.jar.group, one.wanted.jar.name): one}
        own = _dependencies(project.iterfind("{*}dependencies/*"), properties)
        return _Pom(
            properties=properties, managed=managed, dependencies=(*(parent.dependencies if parent else ()), *own)
        )

    def _file(self, path: str) -> Future[Path | None]:
        """A file; None if the repository has none."""
        with self._lock:
            if path not in self._files:
                self._files[path] = self._downloads.submit(self._download, path)
            return self._files[path]

    def _download(self, path: str) -> Path | None:
        """A file once all of it is there, and is what its checksum says."""
        place = self._folder / path
        if place.exists():
            return place
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh, checksum = place.with_name(f"{place.name}.part"), io.BytesIO()
        with open(fresh, "w+b") as file:
            there = self._get(path, file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha1").hexdigest()
        if not there:
            fresh.unlink()
            return None
        if self._get(f"{path}.sha1", checksum) and not checksum.getvalue().lower().startswith(digest.encode()):
            raise ConnectionError(f"{path} is not the file that its checksum is of")
        return fresh.replace(place)

    def _get(self, path: str, file: IO[bytes]) -> bool:
        """Write what the repository answers into a file; False if it has nothing of that name."""
        connection = self._idle.get()
        try:
            connection.request("GET", f"{self._path}/{path}")
            answer = connection.getresponse()
            if answer.status == HTTPStatus.OK:
                shutil.copyfileobj(answer, file)
                if answer.length:
                    raise ConnectionError(f"{path}: {answer.length} bytes are missing")
                return True
            answer.read()
        except Exception:
            connection.close()
            raise
        finally:
            self._idle.put(connection)
        if answer.status != HTTPStatus.NOT_FOUND:
            raise ConnectionError(f"{path}: {answer.status} {answer.reason}")
        return False

    def close(self) -> None:
        """Close its connections."""
        for _ in range(_AT_ONCE):
            self._idle.get().close()


def _dependencies(declared: Iterable[Element], properties: dict[str, str]) -> Iterator[_Dependency]:
    """The dependencies that a pom declares, without those that only some who depend on it need."""
    for one in declared:
        if one.findtext("{*}optional") == "true":
            continue
        excluded = frozenset(
            (other.group, other.name)
            for other in (_coordinates(entry, properties) for entry in one.iterfind("{*}exclusions/{*}exclusion"))
        )
        yield _Dependency(Wanted(_coordinates(one, properties), excluded=excluded), one.findtext("{*}scope") or "")


def _coordinates(one: Element, properties: dict[str, str]) -> Coordinates:
    def text(tag: str) -> str:
        found = (one.findtext(f"{{*}}{tag}") or "").strip()
        for _ in range(_DEPTH):
            found = _PROPERTY.sub(lambda match: properties.get(match[1], ""), found)
        return found if _PLAIN.fullmatch(found) else ""

    return Coordinates(text("groupId"), text("artifactId"), text("version"), text("classifier"))


def _managed(dependency: _Dependency, pom: _Pom) -> _Dependency:
    """A dependency, with the version and the scope that the pom and its parents have for all of its name."""
    jar = dependency.wanted.jar
    known = pom.managed.get((jar.group, jar.name))
    if known is None:
        return dependency
    version = jar.version or known.wanted.jar.version
    return _Dependency(
        replace(
            dependency.wanted,
            jar=replace(jar, version=version),
            excluded=dependency.wanted.excluded | known.wanted.excluded,
        ),
        dependency.scope or known.scope,
    )
