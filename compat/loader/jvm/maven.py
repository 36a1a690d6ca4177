"""Jars from Maven Central through Apache Ivy, which resolves dependencies and verifies checksums.

Ivy is one jar: the one that pyspark brings along, or one that is fetched once and compared with a digest known here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Sequence
from contextlib import suppress
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import quoteattr

from msgspec import Struct

from compat.compiler.spark.driver.java import cache_folder
from compat.loader.jvm.ahead import Coordinates, NotThere, Wanted, fetch_ahead
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.java import find_java

CENTRAL = "https://repo1.maven.org/maven2/"
REPOSITORY_VARIABLE = "COMPAT_MAVEN_REPOSITORY"
"""The variable with the repository to ask in place of Maven Central."""

_DAY = 86_400.0
_MOST_LISTED = 1_000_000
_VERSION = re.compile(r"<version>([\w.+-]+)</version>")
_UNANSWERED = re.compile(r"Server access error at url .*|SERVER ERROR: .*")
"""Ivy's message for a repository that does not answer properly."""
_PAUSE = 2.0
"""Seconds before a repository that did not answer is asked once more."""
_IVY = "2.5.3"
_IVY_SHA256 = "9502aa5aabf0b1484924a13ef4b5d24f121f7f91aab6768f11cc9d0906c0803b"
_SETTINGS = """<ivysettings>
  <property name="ivy.maven.lookup.sources" value="false"/>
  <property name="ivy.maven.lookup.javadoc" value="false"/>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache} lockStrategy="artifact-lock-nio" useOrigin="true"/>
  <resolvers><ibiblio name="central" m2compatible="true" root={root}/></resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="compat" module={name}/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


class Artifact(Struct, frozen=True, kw_only=True):
    """A jar by its Maven coordinates, with its dependencies unless it is wanted ``alone``."""

    group: str
    name: str
    version: str
    classifier: str = ""
    alone: bool = False

    def __str__(self) -> str:
        return ":".join(part for part in (self.group, self.name, self.version, self.classifier) if part)


def fetch(name: str, artifacts: Sequence[Artifact]) -> tuple[Path, ...]:
    """The jars of artifacts and of their dependencies, fetched if they are not in the cache.

    ``name`` identifies this set of jars. Raises JvmError if one cannot be fetched.
    """
    folder = cache_folder() / "maven"
    wanted = "\n".join(map(str, artifacts))
    known = folder / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}.classpath"
    if jars := _listed(known):
        return jars
    folder.mkdir(parents=True, exist_ok=True)
    # Commands that begin at the same time want the same jars: one fetches them, the others find them.
    with open(folder / "fetching.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _listed(known) or _fetched(name, artifacts, known)


def _fetched(name: str, artifacts: Sequence[Artifact], known: Path) -> tuple[Path, ...]:
    """The jars, and in the file ``known`` a list of them. Raises JvmError."""
    ivy = _Ivy(name, artifacts, known)
    root = os.environ.get(REPOSITORY_VARIABLE) or CENTRAL
    said = ""
    try:
        if root.startswith("http"):
            wanted = [
                Wanted(Coordinates(one.group, one.name, one.version, one.classifier), not one.alone)
                for one in artifacts
            ]
            ahead = known.parent / "repository"
            with suppress(OSError, HTTPException, ParseError):
                fetch_ahead(wanted, root, ahead)
                ivy.resolve(ahead.as_uri())
    except NotThere as error:
        said = f"{error}: not found"
    if not said and not ivy.fresh.exists():
        said = ivy.resolve(root)
        if not ivy.fresh.exists() and _UNANSWERED.search(said):
            time.sleep(_PAUSE)  # a repository that refused once, or a connection that broke
            said = ivy.resolve(root)
    if not ivy.fresh.exists():
        raise JvmError(
            f"{artifacts[0]} cannot be fetched from {root}: {_why(said)}.",
            "Check the version and the connection, or give jars on this machine with --classpath or --flink-home.",
        )
    paths = ivy.fresh.read_text(encoding="utf-8").strip().split(os.pathsep)
    ivy.fresh.write_text("\n".join(paths), encoding="utf-8")
    os.replace(ivy.fresh, known)
    return tuple(map(Path, paths))


class _Ivy:
    """Apache Ivy, which lists the jars of artifacts in the file ``fresh`` where it finds them all."""

    def __init__(self, name: str, artifacts: Sequence[Artifact], known: Path) -> None:
        self.fresh = known.with_suffix(f".{os.getpid()}")
        self._settings, self._module = (known.with_name(f"{known.stem}.{what}.xml") for what in ("settings", "ivy"))
        self._cache = known.parent / "ivy"
        self._module.write_text(
            _MODULE.format(name=quoteattr(name), dependencies=_dependencies(artifacts)), encoding="utf-8"
        )

    def resolve(self, root: str) -> str:
        """Have it look for them in a repository; gives what it says."""
        text = _SETTINGS.format(cache=quoteattr(str(self._cache)), root=quoteattr(root))
        self._settings.write_text(text, encoding="utf-8")
        jvm = [
            find_java().command,
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-jar",
            str(_jar_of_ivy(self._cache.parent)),
        ]
        options = ["-settings", str(self._settings), "-ivy", str(self._module), "-confs", "default"]
        command = [*jvm, "-warn", *options, "-cachepath", str(self.fresh)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr


def _why(said: str) -> str:
    """Why Ivy did not find all: where a repository does not answer, it says that the module is not found, too."""
    if (unanswered := _UNANSWERED.search(said)) is not None:
        return unanswered[0]
    lacking = [line.strip(" \t:") for line in said.splitlines() if "not found" in line]
    return lacking[0] if lacking else "the resolver failed"


def releases(group: str, name: str) -> tuple[str, ...]:
    """The versions of an artifact in the repository, at most a day old; none if it cannot be asked."""
    root = os.environ.get(REPOSITORY_VARIABLE) or CENTRAL
    url = f"{root.rstrip('/')}/{group.replace('.', '/')}/{name}/maven-metadata.xml"
    kept = cache_folder() / "maven" / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:12]}.versions"
    if not kept.exists() or time.time() - kept.stat().st_mtime > _DAY:
        with suppress(OSError, ValueError):
            with urllib.request.urlopen(url, timeout=30) as answer:
                text = answer.read(_MOST_LISTED).decode("utf-8", "replace")
            kept.parent.mkdir(parents=True, exist_ok=True)
            fresh = kept.with_suffix(f".{os.getpid()}")
            fresh.write_text("\n".join(_VERSION.findall(text)), encoding="utf-8")
            os.replace(fresh, kept)
    try:
        return tuple(kept.read_text(encoding="utf-8").split())
    except OSError:
        return ()


def _listed(known: Path) -> tuple[Path, ...]:
    """The jars that an earlier fetch listed, if all are still there."""
    try:
        jars = tuple(Path(line) for line in known.read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()
    return jars if all(jar.is_file() for jar in jars) else ()


def _dependencies(artifacts: Iterable[Artifact]) -> str:
    lines = []
    for one in artifacts:
        conf = 'conf="default->master" transitive="false"' if one.alone else 'conf="default->default"'
        jar = ""
        if one.classifier:
            jar = (
                f'<artifact name={quoteattr(one.name)} type="jar" ext="jar" m:classifier={quoteattr(one.classifier)}/>'
            )
        given = f"org={quoteattr(one.group)} name={quoteattr(one.name)} rev={quoteattr(one.version)} {conf}"
        lines.append(f"    <dependency {given}>{jar}</dependency>")
    return "\n".join(lines)


def _jar_of_ivy(folder: Path) -> Path:
    """The jar of Apache Ivy."""
    spark = find_spec("pyspark")
    for place in (spark.submodule_search_locations or []) if spark is not None else []:
        for jar in sorted(Path(place, "jars").glob("ivy-2.*.jar")):
            return jar
    jar = folder / f"ivy-{_IVY}.jar"
    if not jar.exists():
        root = os.environ.get(REPOSITORY_VARIABLE) or CENTRAL
        url = f"{root.rstrip('/')}/org/apache/ivy/ivy/{_IVY}/ivy-{_IVY}.jar"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                data = answer.read()
        except OSError as error:
            raise JvmError(
                f"{url} cannot be fetched: {error}.", "Give jars on this machine with --classpath."
            ) from error
        if hashlib.sha256(data).hexdigest() != _IVY_SHA256:
            raise JvmError(f"{url} is not the expected file: its SHA-256 differs.")
        fresh = jar.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(data)
        os.replace(fresh, jar)
    return jar
