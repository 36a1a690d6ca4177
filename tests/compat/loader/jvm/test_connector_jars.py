"""``--connector``: which jar it is for which Flink, and the advice where one is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compat.loader.failure import CLASSPATH, Side
from compat.loader.inputs import FlinkJars, InputError, LoadOptions, load, opened
from compat.loader.jvm import connector_jars as connectors
from compat.loader.jvm import maven
from compat.loader.jvm.connector_jars import (
    CONNECTORS,
    advice,
    advice_on_factory,
    advice_on_file_system,
    distributed,
    fitting,
)
from compat.loader.jvm.errors import JvmError
from tests import needs
from tests.needs import Need

KAFKA = (
    "1.16.1",
    "1.17.0",
    "3.0.0-1.17",
    "3.1.0-1.18",
    "3.2.0-1.19",
    "3.4.0-1.20",
    "4.0.0-2.0",
    "4.0.1-2.0",
    "5.0.0-2.2",
)


@pytest.mark.parametrize(
    ("there", "flink", "of_flink", "chosen"),
    [
        (KAFKA, "1.17.2", False, "3.0.0-1.17"),
        (KAFKA, "1.20.1", False, "3.4.0-1.20"),
        (KAFKA, "2.0.0", False, "4.0.1-2.0"),
        (KAFKA, "2.3.0", False, "5.0.0-2.2"),
        (("3.10.0-1.20", "3.9.0-1.20", "3.9.1-1.19"), "1.20.0", False, "3.10.0-1.20"),
        (("4.1.0-1.18",), "1.20.0", False, "4.1.0-1.18"),
        (("4.1.0-1.18",), "2.3.0", False, None),
        (("4.0.0-2.0",), "1.20.0", False, None),
        (("1.17.0",), "1.18.0", False, "1.17.0"),
        (("3.4.0", "3.5.0"), "1.20.0", False, "3.5.0"),
        (("1.20.0", "1.20.3", "2.3.0"), "1.20.1", True, "1.20.3"),
        (("1.20.0", "2.3.0"), "1.19.1", True, None),
        (("3.0.0-SNAPSHOT", "latest", "3.0.0-1.17"), "1.17.0", False, "3.0.0-1.17"),
        ((), "1.20.0", False, None),
    ],
)
def test_the_release_for_a_flink(there, flink, of_flink, chosen):
    assert fitting(there, flink, of_flink) == chosen


@pytest.fixture
def offline(monkeypatch):
    """No repository answers; what would be fetched is noted."""
    fetched = []
    monkeypatch.setattr(connectors, "releases", lambda group, name: ())
    monkeypatch.setattr(
        connectors, "fetch", lambda name, artifacts: fetched.extend(map(str, artifacts)) or (Path(f"/{name}.jar"),)
    )
    return fetched


def test_without_an_answer_the_known_releases_hold(offline):
    jars, notes = connectors.connector_jars(["kafka", "jdbc", "kafka"], "1.20.1")
    assert jars == (Path("/connector-kafka.jar"), Path("/connector-jdbc.jar"))
    assert notes == ()
    assert offline[:2] == [
        "org.apache.flink:flink-sql-connector-kafka:3.4.0-1.20",
        "org.apache.flink:flink-connector-jdbc:3.3.0-1.20",
    ]


def test_one_of_another_flink_is_said(offline):
    _, notes = connectors.connector_jars(["kafka"], "2.3.0")
    assert notes == (
        "The connector kafka is org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2: none is released for Flink 2.3.0.",
    )


def test_a_release_can_be_named(offline):
    assert connectors.connector_jars(["kafka:3.3.0-1.20"], "1.20.1")[1] == ()
    assert offline == ["org.apache.flink:flink-sql-connector-kafka:3.3.0-1.20"]


def test_the_first_artifact_with_a_release_is_taken_with_what_belongs_to_it(offline, monkeypatch):
    there = {
        "flink-connector-jdbc": ("3.3.0-1.20",),
        "flink-connector-jdbc-core": ("3.3.0-1.20", "4.0.0-2.0"),
        "flink-connector-jdbc-postgres": ("4.0.0-2.0",),
    }
    monkeypatch.setattr(connectors, "releases", lambda group, name: there.get(name, ()))
    connectors.connector_jars(["jdbc"], "2.0.0")
    assert offline == [
        "org.apache.flink:flink-connector-jdbc-core:4.0.0-2.0",
        "org.apache.flink:flink-connector-jdbc-postgres:4.0.0-2.0",
    ]


def test_a_format_has_the_version_of_its_flink(offline, monkeypatch):
    monkeypatch.setattr(connectors, "releases", lambda group, name: ("1.20.0", "1.20.1", "2.3.0"))
    connectors.connector_jars(["avro"], "1.20.0")
    assert offline == ["org.apache.flink:flink-sql-avro:1.20.0"]


def test_the_scala_api_comes_with_the_scala_that_distributions_have(offline, monkeypatch):
    monkeypatch.setattr(connectors, "releases", lambda group, name: ("1.20.0", "1.20.1", "2.3.0"))
    connectors.connector_jars(["scala"], "1.20.1")
    assert offline == [
        "org.apache.flink:flink-scala_2.12:1.20.1",
        "org.apache.flink:flink-streaming-scala_2.12:1.20.1",
        "org.scala-lang:scala-library:2.12.20",
    ]
    assert not CONNECTORS["scala"].whole
    names = (
        "org.apache.flink.api.scala.typeutils.CaseClassTypeInfo",
        "org.apache.flink.streaming.api.scala.StreamExecutionEnvironment$",
        "scala.Product",
    )
    for name in names:
        assert advice(name)[1] == "--connector scala"


def test_what_lies_in_flinks_distribution_is_told_from_other_connectors():
    assert distributed("--connector scala") == "scala"
    assert distributed("--connector flink-s3-fs-hadoop") == "flink-s3-fs-hadoop"
    for other in ("--connector kafka", "--connector avro", CLASSPATH, None):
        assert distributed(other) is None


def test_the_first_known_of_the_file_systems_that_flink_names_is_taken():
    assert advice_on_file_system("flink-s3-fs-presto, flink-s3-fs-hadoop")[1] == "--connector flink-s3-fs-hadoop"
    assert advice_on_file_system("flink-none-fs") is None


@pytest.mark.parametrize(
    ("flink", "chosen", "notes"),
    [
        ("1.20.0", "org.apache.iceberg:iceberg-flink-runtime-1.20:1.10.0", ()),
        (
            "2.3.0",
            "org.apache.iceberg:iceberg-flink-runtime-2.0:1.10.0",
            ("The connector iceberg is {}: none is released for Flink 2.3.0.",),
        ),
    ],
)
def test_the_version_of_flink_may_stand_in_the_name_of_the_artifact(offline, monkeypatch, flink, chosen, notes):
    there = ("1.9.0", "1.10.0", "1.7.1")
    names = ("iceberg-flink-runtime-1.20", "iceberg-flink-runtime-2.0")
    monkeypatch.setattr(connectors, "releases", lambda group, name: there if name in names else ())
    assert connectors.connector_jars(["iceberg"], flink)[1] == tuple(one.format(chosen) for one in notes)
    assert offline == [chosen]


@pytest.mark.parametrize(
    ("name", "flink", "says", "hint"),
    [
        ("iceberg", "2.3.0", "The connector iceberg has no release for Flink 2.3.0.", "--connector iceberg:RELEASE"),
        ("kafak", "2.3.0", "There is no connector 'kafak': known are kafka, jdbc,", "--classpath JAR"),
        ("pulsar", "2.3.0", "The connector pulsar has no release for Flink 2.3.0.", "--connector pulsar:RELEASE"),
    ],
)
def test_what_cannot_be_had_is_said(offline, name, flink, says, hint):
    with pytest.raises(JvmError, match=re.escape(says)) as raised:
        connectors.connector_jars([name], flink)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        ("kafka", "--connector kafka"),
        ("upsert-kafka", "--connector kafka"),
        ("elasticsearch-7", "--connector elasticsearch"),
        ("avro", "--connector avro"),
        ("org.apache.flink.connector.kafka.source.KafkaSource", "--connector kafka"),
        ("org.apache.flink.formats.avro.AvroRowSerializationSchema", "--connector avro"),
        ("org.apache.flink.formats.avro.registry.confluent.CachedSchemaCoderProvider", "--connector avro-confluent"),
        ("paimon", "--connector paimon"),
        ("org.apache.hadoop.conf.Configuration", "--connector hadoop"),
        ("org.apache.flink.state.api.SavepointReader", "--connector state-processor"),
    ],
)
def test_the_advice_names_both_ways(asked, option):
    found = advice(asked)
    assert found is not None
    assert found[1] == option
    assert f"Write {option}, which downloads it" in found[0]
    assert "--classpath JAR" in found[0]


def test_what_nobody_knows_goes_on_the_class_path():
    assert advice("acme") is None
    assert advice("com.acme.Sink") is None
    assert advice("org.apache.flink.formats.json.JsonFormatFactory") is None
    assert advice_on_factory("acme")[1] == '--classpath "$JAR"'


def test_each_name_and_package_belongs_to_one_connector():
    names = [name for jar in CONNECTORS.values() for name in (*jar.names, *jar.packages)]
    assert len(names) == len(set(names))


def test_what_a_repository_lists_is_asked_once_a_day(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(maven.REPOSITORY_VARIABLE, (tmp_path / "repository").as_uri())
    listed = tmp_path / "repository" / "org" / "acme" / "sink" / "maven-metadata.xml"
    assert maven.releases("org.acme", "sink") == ()
    listed.parent.mkdir(parents=True)
    listed.write_text("<metadata><version>1.0-1.20</version><version>2.0-2.0</version></metadata>")
    assert maven.releases("org.acme", "sink") == ("1.0-1.20", "2.0-2.0")
    listed.unlink()
    assert maven.releases("org.acme", "sink") == ("1.0-1.20", "2.0-2.0")


SCRIPT = """\
CREATE TABLE orders (product STRING, amount BIGINT) WITH ('connector' = 'kafka', 'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE sums (product STRING, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sums SELECT product, SUM(amount) FROM orders GROUP BY product;
"""


def test_a_script_gets_its_connector(tmp_path):
    """With the network: the real connector of Kafka plans the script that lacked it."""
    needs.module("jpype", "jvm")
    script = tmp_path / "job.sql"
    script.write_text(SCRIPT)

    def plans(*names):
        with opened(str(script)) as given:
            options = LoadOptions.given({}, jars=FlinkJars(version="2.3.0", connectors=names), timeout=200)
            return load(given, options, Side.NEW)

    try:
        (plan,) = plans("kafka")
    except InputError as error:
        if "cannot be fetched" not in error.failure.message and "has no release" not in error.failure.message:
            raise
        needs.without(Need.MAVEN, error.failure.message)
    assert any(one.name.startswith("Source: KafkaSource") for one in plan.operators)
    with pytest.raises(InputError) as raised:
        plans()
    assert raised.value.failure.option == "--connector kafka"
    assert "No DynamicTableFactory for 'kafka' is on the class path." in raised.value.failure.message


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (
            "Could not find any factory for identifier 'kafka' that implements 'org.apache.flink.DynamicTableFactory'",
            "kafka",
        ),
        ("Could not find any format factory for identifier 'parquet' in the classpath.", "parquet"),
        ("Could not find any format factory for identifier 'shop' in the classpath.", None),
    ],
)
def test_a_factory_that_is_missing_is_that_of_a_known_connector_or_format(said, name):
    assert connectors.without_factory(said) == name
