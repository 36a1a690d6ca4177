"""Jars from a repository that several ask at once, that refuses once, or that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compat.loader.jvm import maven
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch
from tests.compat.loader.jvm.repository import Repository, running

ARTIFACT = Artifact(group="org.example", name="words", version="1.0")
FILES = 2
"""The pom and the jar of it."""


@pytest.fixture
def repository(java: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    with running() as server:
        server.add("words")
        monkeypatch.setenv(maven.REPOSITORY_VARIABLE, server.url)
        monkeypatch.setattr(maven, "cache_folder", lambda: tmp_path / "a cache [1]")
        monkeypatch.setattr(maven, "_PAUSE", 0.0)
        yield server


def test_several_that_want_the_same_jars_fetch_them_once(repository: Repository) -> None:
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: fetch("words", [ARTIFACT]), range(3)))
    assert [[jar.name for jar in jars] for jars in found] == [["words-1.0.jar"]] * 3
    assert repository.asked == dict.fromkeys(repository.files, 1)


@pytest.mark.parametrize("refusals", [1, FILES, FILES + 1], ids=["one file", "all", "and then one more"])
def test_a_repository_that_refuses_once_is_asked_again(repository: Repository, refusals: int) -> None:
    repository.refusals = refusals
    (jar,) = fetch("words", [ARTIFACT])
    assert jar.read_bytes() == repository.files["/org/example/words/1.0/words-1.0.jar"]


def test_one_that_goes_on_refusing_is_told_with_its_reason(repository: Repository) -> None:
    repository.refusals = 1_000
    with pytest.raises(
        JvmError, match=r"org\.example:words:1\.0 cannot be fetched .*SERVER ERROR: Service Unavailable"
    ):
        fetch("words", [ARTIFACT])


def test_a_jar_that_is_nowhere_is_asked_for_once(repository: Repository) -> None:
    with pytest.raises(JvmError, match=r"org\.example:letters:1\.0 cannot .* org\.example#letters;1\.0: not found"):
        fetch("letters", [Artifact(group="org.example", name="letters", version="1.0")])
    assert repository.asked["/org/example/letters/1.0/letters-1.0.pom"] == 1


def test_a_jar_that_is_not_what_its_checksum_says_is_refused(repository: Repository) -> None:
    repository.files["/org/example/words/1.0/words-1.0.jar"] += b"more"
    with pytest.raises(JvmError, match="cannot be fetched"):
        fetch("words", [ARTIFACT])


def test_what_no_pom_told_ahead_is_asked_for_by_ivy(repository: Repository) -> None:
    """A range of versions, which Ivy looks up in the list of all."""
    needed = "<dependency><groupId>org.example</groupId><artifactId>words</artifactId><version>[1.0,2.0)</version></dependency>"
    repository.add("lines", f"<dependencies>{needed}</dependencies>")
    versions = b"<metadata><versioning><versions><version>1.0</version></versions></versioning></metadata>"
    repository.files["/org/example/words/maven-metadata.xml"] = versions
    jars = fetch("lines", [Artifact(group="org.example", name="lines", version="1.0")])
    assert {jar.name for jar in jars} == {"lines-1.0.jar", "words-1.0.jar"}


def test_a_jar_that_was_not_fetched_ahead_is_asked_for_by_ivy(repository: Repository) -> None:
    """Its pom was: it is wanted by its type."""
    named = "<groupId>org.example</groupId><artifactId>words</artifactId><version>1.0</version>"
    repository.add("lines", f"<dependencies><dependency>{named}<type>test-jar</type></dependency></dependencies>")
    path = "/org/example/words/1.0/words-1.0"
    repository.files[f"{path}-tests.jar"] = repository.files.pop(f"{path}.jar")
    jars = fetch("lines", [Artifact(group="org.example", name="lines", version="1.0")])
    assert {jar.name for jar in jars} == {"lines-1.0.jar", "words-1.0-tests.jar"}
