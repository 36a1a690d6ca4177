"""Where Flink comes from, and which version it is."""

import zipfile

import pytest

from compat.loader.jvm import distribution
from compat.loader.jvm.distribution import FlinkPlaces, find_flink, harness_artifacts
from compat.loader.jvm.errors import JvmError

CORE = "org/apache/flink/api/common/ExecutionConfig.class"
HARNESS = "org/apache/flink/streaming/util/AbstractStreamOperatorTestHarness.class"
MANIFEST = (
    "Manifest-Version: 1.0\r\nImplementation-Version: {}\r\nA: a\r\n b\r\n\r\nName: x\r\nImplementation-Version: 9\r\n"
)


def jar(path, version="2.3.0", entries=(CORE,)):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", MANIFEST.format(version))
        for entry in entries:
            archive.writestr(entry, b"")
    return path


@pytest.fixture(autouse=True)
def no_flink(monkeypatch):
    monkeypatch.delenv("FLINK_HOME", raising=False)


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """Maven Central that has every version."""
    asked = []

    def fetch(name, artifacts):
        asked.append([str(one) for one in artifacts])
        return (jar(tmp_path / f"{name}.jar", artifacts[0].version),)

    monkeypatch.setattr(distribution, "fetch", fetch)
    return asked


def places(**given):
    return FlinkPlaces(fetch_harness=False, **given)


def test_the_version_is_what_the_jar_with_the_core_says(tmp_path):
    jar(tmp_path / "a-1.0.jar", "1.0", entries=())
    jar(tmp_path / "flink-dist.jar", "1.19.2")
    found = find_flink(places(classpath=(f"{tmp_path}/*",)))
    assert found.version == "1.19.2"
    assert [one.name for one in found.jars] == ["a-1.0.jar", "flink-dist.jar"]


def with_comment(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"signed"


def behind_a_script(path):
    path.write_bytes(b"#!/bin/sh\nexec java -jar $0\n" + path.read_bytes())


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize(
    ("entries", "change", "is_flink"),
    [
        ((CORE,), with_comment, True),
        ((CORE,), behind_a_script, True),
        (("shaded/" + CORE,), None, False),
        ((CORE + ".txt",), None, False),
        ((CORE,), cut_off, False),
        ((CORE,), lambda path: path.write_bytes(b"PK"), False),
    ],
    ids=["comment", "script before it", "class of another package", "another ending", "cut off", "two bytes"],
)
def test_flink_is_in_the_jar_that_has_its_core(entries, change, is_flink, tmp_path):
    path = jar(tmp_path / "one.jar", entries=entries)
    if change is not None:
        change(path)
    assert (distribution._first_with((path,), CORE) == path) is is_flink


@pytest.mark.parametrize(
    ("version", "said", "hint"),
    [
        ("1.16.3", "Flink 1.16.3 is too old: jobs are built with Flink 1.17 to 2.3.", "from 1.17 on"),
        ("1.2.0", "Flink 1.2.0 is too old: jobs are built with Flink 1.17 to 2.3.", "from 1.17 on"),
        (
            "1.20",
            "'1.20' is not a release of Flink, which has three numbers, such as 1.20.1.",
            "--flink-version 1.20.0",
        ),
        ("newest", "'newest' is not a release of Flink, which has three numbers, such as 1.20.1.", ""),
    ],
)
def test_other_versions_are_refused_before_anything_is_fetched(fetched, version, said, hint):
    with pytest.raises(JvmError) as raised:
        find_flink(places(version=version))
    assert str(raised.value) == said
    assert hint in raised.value.hint
    assert fetched == []


def test_jars_of_an_older_flink_are_refused(tmp_path):
    jar(tmp_path / "lib" / "flink-dist.jar", "1.15.4")
    with pytest.raises(JvmError, match=r"Flink 1\.15\.4 is too old"):
        find_flink(places(home=str(tmp_path)))


def test_the_class_path_comes_before_the_home_and_the_home_before_the_version(tmp_path, monkeypatch, fetched):
    jar(tmp_path / "lib" / "flink-dist.jar", "1.20.0")
    on_path = str(jar(tmp_path / "own.jar", "2.3.0"))
    connector = str(jar(tmp_path / "connector.jar", "7", entries=()))
    home = str(tmp_path)
    assert find_flink(places(classpath=(on_path,), home=home, version="1.17.0")).version == "2.3.0"
    assert find_flink(places(classpath=(connector,), home=home, version="1.17.0")).version == "1.20.0"
    assert find_flink(places(classpath=(connector,), version="1.17.0")).version == "1.17.0"
    monkeypatch.setenv("FLINK_HOME", home)
    assert find_flink(places()).version == "1.20.0"
    found = find_flink(places(classpath=(connector,)))
    assert [one.name for one in found.jars] == ["connector.jar", "flink-dist.jar"]


def test_the_harness_of_the_version_is_fetched_unless_it_is_there(tmp_path, fetched):
    on_path = str(jar(tmp_path / "flink-dist.jar", "1.19.1"))
    found = find_flink(FlinkPlaces(classpath=(on_path,)))
    assert [one.name for one in found.harness_jars] == ["flink-harness-1.19.1.jar"]
    assert any("flink-streaming-java:1.19.1:tests" in one for one in fetched[0])
    harness = str(jar(tmp_path / "tests.jar", entries=(HARNESS,)))
    found = find_flink(FlinkPlaces(classpath=(on_path, harness)))
    assert (found.harness_jars, found.note, len(fetched)) == ((), "", 1)


def test_without_the_harness_a_note_says_what_to_do(tmp_path, monkeypatch):
    def fetch(name, artifacts):
        raise JvmError("No connection.")

    monkeypatch.setattr(distribution, "fetch", fetch)
    found = find_flink(FlinkPlaces(classpath=(str(jar(tmp_path / "flink-dist.jar")),)))
    assert found.note.startswith("The states of this job are unknown: ")
    assert "flink-runtime:2.3.0:tests" in found.note


def test_flink_2_has_its_harness_in_the_runtime():
    assert not any(one.name == "flink-streaming-java" for one in harness_artifacts("2.0.0"))
    assert any(one.name == "flink-streaming-java" for one in harness_artifacts("1.20.5"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "their location is not given"),
        ({"classpath": ("nowhere.jar",)}, "no such file"),
        ({"classpath": ("nowhere/*",)}, "no jar in nowhere"),
        ({"home": "nowhere"}, "not a Flink installation"),
    ],
)
def test_what_is_not_there_is_said(given, words):
    with pytest.raises(JvmError, match=words):
        find_flink(places(**given))


def test_the_version_that_is_fetched_is_the_option_to_add():
    with pytest.raises(JvmError) as raised:
        find_flink(places())
    assert raised.value.option == "--flink-version 2.3.0"


def test_a_home_without_flink_is_said(tmp_path):
    jar(tmp_path / "lib" / "other.jar", entries=())
    with pytest.raises(JvmError, match="no flink-core"):
        find_flink(places(home=str(tmp_path)))


def test_a_jar_that_hides_its_version_is_refused(tmp_path):
    with pytest.raises(JvmError, match="which version"):
        find_flink(places(classpath=(str(jar(tmp_path / "flink.jar", "unknown")),)))
