"""Connectors that a program lacks and is given: which, in which release, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.jvm import adopting
from compat.loader.jvm import connector_jars as connectors
from compat.loader.jvm.adopting import adopted, lacked
from compat.loader.jvm.connector_jars import in_release_of, named_by, without_factory
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.messages import Crash, JarProgram, PyFlinkProgram
from compat.loader.jvm.process import JvmOutcome
from compat.state.model.job import Assumed

SAID = "Could not find any factory for identifier '{}' that implements 'DynamicTableFactory' in the classpath."
JAR = JarProgram(path="job.jar", main_class=None)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would be fetched; no repository answers."""
    found: list[str] = []
    monkeypatch.setattr(connectors, "releases", lambda group, name: ())
    monkeypatch.setattr(
        connectors, "fetch", lambda name, artifacts: found.extend(map(str, artifacts)) or (Path(f"/{name}.jar"),)
    )
    return found


def program(folder: Path, text: str = "") -> PyFlinkProgram:
    path = folder / "job.py"
    path.write_text(text)
    return PyFlinkProgram(path=str(path), python="python")


def failing(option: str | None) -> JvmOutcome:
    return JvmOutcome(jobs=(), crash=Crash(type="ValidationException", message="", option=option))


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (failing("--connector kafka"), "kafka"),
        (failing("--connector flink-gs-fs-hadoop"), "flink-gs-fs-hadoop"),
        (failing('--classpath "$JAR"'), None),
        (failing(None), None),
        (JvmOutcome(jobs=(), said=SAID.format("upsert-kafka")), "kafka"),
        (JvmOutcome(jobs=(), said=SAID.format("acme")), None),
        (JvmOutcome(jobs=(), said="kafka"), None),
    ],
)
def test_what_a_program_in_python_lacks(tmp_path: Path, outcome: JvmOutcome, name: str | None) -> None:
    assert lacked(outcome, program(tmp_path), fetched=False) == name


def test_a_jar_gets_parts_of_flink_alone_and_only_where_flink_is_fetched() -> None:
    assert lacked(failing("--connector kafka"), JAR, fetched=True) is None
    assert lacked(failing("--connector scala"), JAR, fetched=True) == "scala"
    assert lacked(failing("--connector scala"), JAR, fetched=False) is None


def test_the_note_and_the_plan_name_what_was_taken(tmp_path: Path, fetched: list[str]) -> None:
    found = adopted("kafka", program(tmp_path), "1.20.1")
    assert found is not None
    taken = "org.apache.flink:flink-sql-connector-kafka:3.4.0-1.20"
    assert fetched == [taken]
    assert taken in found.note
    assert "--connector kafka:RELEASE" in found.note
    assert found.assumed == (Assumed(what="connector", name=taken),)


def test_the_release_that_the_program_names_for_its_flink_is_taken(tmp_path: Path, fetched: list[str]) -> None:
    text = "env.add_jars('file:///opt/flink-sql-connector-kafka-3.3.0-1.20.jar')"
    found = adopted("kafka", program(tmp_path, text), "1.20.1")
    assert found is not None
    assert fetched == ["org.apache.flink:flink-sql-connector-kafka:3.3.0-1.20"]


def test_what_cannot_be_had_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise JvmError("no connection")

    monkeypatch.setattr(adopting, "connector_jars", refuse)
    assert adopted("kafka", program(tmp_path), "1.20.1") is None


@pytest.mark.parametrize(
    ("text", "flink", "wanted"),
    [
        ("flink-connector-kafka-3.2.0-1.19.jar", "1.19.1", "kafka:3.2.0-1.19"),
        ("flink-sql-connector-kafka-3.2.0-1.19.jar", "1.20.1", "kafka"),
        ("flink-sql-connector-kafka-1.17.1.jar", "1.17.1", "kafka"),
        ("flink-sql-connector-kafka2-3.2.0-1.19.jar", "1.19.1", "kafka"),
        ("flink-connector-jdbc-3.2.0-1.19.jar", "1.19.1", "kafka"),
        ("", "1.19.1", "kafka"),
    ],
)
def test_a_release_in_a_text(text: str, flink: str, wanted: str) -> None:
    assert in_release_of(text, "kafka", flink) == wanted


def test_names_of_connectors_in_options_and_in_what_was_said() -> None:
    assert named_by("--connector jdbc") == "jdbc"
    assert named_by("--connector acme") is None
    assert without_factory(SAID.format("avro-confluent")) == "avro-confluent"
