"""What is fetched before Ivy asks for it: all that it will need of what poms declare, once each."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import pytest

from compat.loader.jvm.ahead import Coordinates, NotThere, Wanted, fetch_ahead
from tests.compat.loader.jvm.repository import Repository, running


@pytest.fixture
def repository() -> Iterator[Repository]:
    with running() as server:
        yield server


def dependency(name: str, more: str = "", version: str = "<version>1.0</version>") -> str:
    named = f"<groupId>org.example</groupId><artifactId>{name}</artifactId>"
    return f"<dependency>{named}{version}{more}</dependency>"


def needing(*dependencies: str) -> str:
    return f"<dependencies>{''.join(dependencies)}</dependencies>"


def jars(repository: Repository, folder: Path, *names: str, followed: bool = True) -> set[str]:
    """The jars that are fetched for some, by their names."""
    wanted = [Wanted(Coordinates("org.example", name, "1.0"), followed) for name in names]
    fetch_ahead(wanted, repository.url, folder)
    return {path.stem.removesuffix("-1.0") for path in folder.rglob("*.jar")}


def test_dependencies_of_dependencies_are_fetched_once(repository: Repository, tmp_path: Path) -> None:
    repository.add("a", needing(dependency("b"), dependency("c")))
    repository.add("b", needing(dependency("c")))
    repository.add("c", needing(dependency("a")))
    assert jars(repository, tmp_path, "a", "b") == {"a", "b", "c"}
    assert set(repository.asked.values()) == {1}
    assert jars(repository, tmp_path, "a") == {"a", "b", "c"}
    assert set(repository.asked.values()) == {1}


def test_those_that_no_job_has_when_it_runs_are_not(repository: Repository, tmp_path: Path) -> None:
    scopes = ("test", "provided", "system")
    for name in (*scopes, "optional", "runs", "deep"):
        repository.add(name)
    repository.add("b", needing(dependency("deep"), dependency("runs", "<scope>runtime</scope>")))
    others = [dependency(name, f"<scope>{name}</scope>") for name in scopes]
    without = (
        "<exclusions><exclusion><groupId>org.example</groupId><artifactId>deep</artifactId></exclusion></exclusions>"
    )
    repository.add("a", needing(*others, dependency("optional", "<optional>true</optional>"), dependency("b", without)))
    assert jars(repository, tmp_path, "a") == {"a", "b", "runs"}


def test_versions_come_from_properties_parents_and_lists_of_versions(repository: Repository, tmp_path: Path) -> None:
    parent = "<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1.0</version></parent>"
    managed = "<dependencyManagement>{}</dependencyManagement>".format
    imported = dependency("bom", "<type>pom</type><scope>import</scope>")
    of_a_property = dependency("b", version="<version>${b.version}</version>")
    repository.add("bom", managed(needing(dependency("c"))), jar=False)
    properties = "<properties><one>1.0</one><b.version>${one}</b.version></properties>"
    repository.add("parent", properties + managed(needing(of_a_property, imported)), jar=False)
    of_the_project = dependency("d", version="<version>${project.version}</version>")
    repository.add("a", parent + needing(dependency("b", version=""), dependency("c", version=""), of_the_project))
    for name in "bcd":
        repository.add(name)
    assert jars(repository, tmp_path, "a") == {"a", "b", "c", "d"}


def test_one_that_is_wanted_alone_has_its_parents_for_ivy(repository: Repository, tmp_path: Path) -> None:
    parent = "<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1.0</version></parent>"
    repository.add("a", parent + needing(dependency("b")))
    repository.add("b")
    path = repository.add("parent", jar=False)
    assert jars(repository, tmp_path, "a", followed=False) == {"a"}
    assert repository.asked[f"{path}.pom"] == 1


def test_names_that_lead_out_of_the_folder_are_not_followed(repository: Repository, tmp_path: Path) -> None:
    repository.add("a", needing(dependency("../../../../b"), dependency("b", version="<version>../../b</version>")))
    assert jars(repository, tmp_path / "here", "a") == {"a"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert not any(".." in path for path in repository.asked)


def test_a_file_that_is_not_what_its_checksum_says_is_not_kept(repository: Repository, tmp_path: Path) -> None:
    path = repository.add("a")
    whole = repository.files[f"{path}.jar"]
    repository.files[f"{path}.jar"] = whole[:-1]
    with pytest.raises(OSError, match=r"a-1\.0\.jar is not the file"):
        jars(repository, tmp_path, "a")
    repository.files[f"{path}.jar"] = whole
    assert jars(repository, tmp_path, "a") == {"a"}


def test_properties_that_stand_for_one_another_have_no_end_and_no_version(
    repository: Repository, tmp_path: Path
) -> None:
    round_and_round = "<properties><x>${y}</x><y>${x}</y></properties>"
    repository.add("a", round_and_round + needing(dependency("b", version="<version>${x}</version>")))
    assert jars(repository, tmp_path, "a") == {"a"}


def test_what_is_not_there_is_told_and_a_dependency_that_is_not_there_is_left_to_ivy(
    repository: Repository, tmp_path: Path
) -> None:
    repository.add("a", needing(dependency("b")))
    assert jars(repository, tmp_path, "a") == {"a"}
    with pytest.raises(NotThere, match=r"org\.example#b;"):
        jars(repository, tmp_path, "a", "b")


def test_one_that_does_not_answer_is_asked_again_the_next_time(repository: Repository, tmp_path: Path) -> None:
    repository.add("a")
    repository.refusals = 2
    with pytest.raises((OSError, HTTPException)):
        jars(repository, tmp_path, "a")
    assert jars(repository, tmp_path, "a") == {"a"}
