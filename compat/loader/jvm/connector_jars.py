"""The jars of connectors, formats and file systems that Flink does not include, by their names in SQL or in Flink:
``--connector``.

A connector has its own releases, each for a version of Flink. The Maven repository lists them; if it cannot be asked,
the releases known here count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from compat.loader.failure import CLASSPATH, CONNECTOR, FETCHED
from compat.loader.jvm.distribution import FLINK, parsed
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch, releases


class ConnectorJar(Struct, frozen=True, kw_only=True):
    """A connector or format: its artifacts, of which the first with a fitting release is used.

    ``{flink}`` in the name of an artifact is the version of Flink that all its releases are for.
    ``beside`` are artifacts that are taken with it if they have the same release; ``newer`` are others that it needs in a later
    version than it declares. ``names`` are its names in SQL, ``packages`` the packages of its classes. A ``whole`` jar needs no
    other. ``known`` are its releases, with the version of Flink at the end of each name, or without one for any Flink of the
    first API; empty if it is released with Flink (``of_flink``). A ``distributed`` jar is in Flink's own distribution, in
    ``lib`` or ``opt``.
    """

    artifacts: tuple[str, ...]
    names: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    newer: tuple[Artifact, ...] = ()
    whole: bool = True
    of_flink: bool = False
    distributed: bool = False
    known: tuple[str, ...] = ()
    group: str = FLINK


def _format(artifact: str, *names: str, package: str) -> ConnectorJar:
    return ConnectorJar(artifacts=(artifact,), names=names, packages=(package,), of_flink=True)


def _cdc(name: str) -> ConnectorJar:
    return ConnectorJar(artifacts=(f"flink-sql-connector-{name}",), names=(name,), known=("3.5.0",))


NO_FACTORY = re.compile(
    r"Could not find any (?:format )?factory for identifier '([^']+)' (?:that implements '([^']+)'|in the classpath)"
)
"""The message of ``FactoryUtil`` for a connector, format or catalog that is not on the class path, and that of tables in
files for a format."""
_JAR = re.compile(r"\b([a-z][a-z\d-]*?)-(\d[\w.]*-(\d+\.\d+))\.jar\b")
"""The jar of a connector's release for a version of Flink."""
_SCALA = Artifact(group="org.scala-lang", name="scala-library", version="2.12.20", alone=True)
"""Scala 2.12 makes the lambdas of a job anew in Java 17 from a later release on than the one that Flink names."""

CONNECTORS: Mapping[str, ConnectorJar] = {
    "kafka": ConnectorJar(
        artifacts=("flink-sql-connector-kafka",),
        names=("kafka", "upsert-kafka"),
        packages=("org.apache.flink.connector.kafka.", "org.apache.flink.streaming.connectors.kafka."),
        known=("3.0.1-1.17", "3.1.0-1.18", "3.2.0-1.19", "3.4.0-1.20", "4.0.1-2.0", "5.0.0-2.2"),
    ),
    "jdbc": ConnectorJar(
        artifacts=("flink-connector-jdbc", "flink-connector-jdbc-core"),
        names=("jdbc",),
        packages=("org.apache.flink.connector.jdbc.",),
        beside=("flink-connector-jdbc-mysql", "flink-connector-jdbc-postgres"),
        whole=False,
        known=("3.1.2-1.17", "3.1.2-1.18", "3.2.0-1.19", "3.3.0-1.20", "4.0.0-2.0"),
    ),
    "elasticsearch": ConnectorJar(
        artifacts=("flink-sql-connector-elasticsearch7",),
        names=("elasticsearch-7",),
        packages=("org.apache.flink.connector.elasticsearch.", "org.apache.flink.streaming.connectors.elasticsearch"),
        known=("3.0.1-1.17", "3.1.0-1.18", "3.1.0-1.19", "3.1.0-1.20", "4.0.0-2.0"),
    ),
    "elasticsearch6": ConnectorJar(
        artifacts=("flink-sql-connector-elasticsearch6",), names=("elasticsearch-6",), known=("3.0.1-1.17",)
    ),
    "kinesis": ConnectorJar(
        artifacts=("flink-sql-connector-aws-kinesis-streams", "flink-sql-connector-kinesis"),
        names=("kinesis",),
        packages=("org.apache.flink.connector.kinesis.", "org.apache.flink.streaming.connectors.kinesis."),
        known=("4.2.0-1.17", "4.3.0-1.18", "5.0.0-1.19", "5.0.0-1.20", "6.0.0-2.0"),
    ),
    "firehose": ConnectorJar(
        artifacts=("flink-sql-connector-aws-kinesis-firehose",),
        names=("firehose",),
        packages=("org.apache.flink.connector.firehose.",),
        known=("4.2.0-1.17", "4.3.0-1.18", "5.0.0-1.19", "5.0.0-1.20", "6.0.0-2.0"),
    ),
    "dynamodb": ConnectorJar(
        artifacts=("flink-sql-connector-dynamodb",),
        names=("dynamodb",),
        packages=("org.apache.flink.connector.dynamodb.",),
        known=("4.2.0-1.17", "4.3.0-1.18", "5.0.0-1.19", "5.0.0-1.20", "6.0.0-2.0"),
    ),
    "mongodb": ConnectorJar(
        artifacts=("flink-sql-connector-mongodb",),
        names=("mongodb",),
        packages=("org.apache.flink.connector.mongodb.",),
        known=("1.1.0-1.17", "1.1.0-1.18", "1.2.0-1.19", "2.0.0-1.20", "2.0.0-2.0"),
    ),
    "pulsar": ConnectorJar(
        artifacts=("flink-sql-connector-pulsar",),
        names=("pulsar",),
        packages=("org.apache.flink.connector.pulsar.",),
        known=("4.1.0-1.17", "4.1.0-1.18"),
    ),
    "rabbitmq": ConnectorJar(
        artifacts=("flink-sql-connector-rabbitmq",),
        packages=("org.apache.flink.streaming.connectors.rabbitmq.",),
        known=("3.0.1-1.17",),
    ),
    "hbase": ConnectorJar(
        artifacts=("flink-sql-connector-hbase-2.2",),
        names=("hbase-2.2",),
        packages=("org.apache.flink.connector.hbase",),
        known=("3.0.0-1.17", "4.0.0-1.18", "4.0.0-1.19"),
    ),
    "opensearch": ConnectorJar(
        artifacts=("flink-sql-connector-opensearch",),
        names=("opensearch",),
        packages=("org.apache.flink.connector.opensearch.",),
        known=("1.1.0-1.17", "1.2.0-1.18", "1.2.0-1.19"),
    ),
    "mysql-cdc": _cdc("mysql-cdc"),
    "postgres-cdc": _cdc("postgres-cdc"),
    "mongodb-cdc": _cdc("mongodb-cdc"),
    "oracle-cdc": _cdc("oracle-cdc"),
    "sqlserver-cdc": _cdc("sqlserver-cdc"),
    "faker": ConnectorJar(
        artifacts=("flink-faker",), names=("faker",), known=("0.5.3",), group="com.github.knaufk", whole=False
    ),
    "iceberg": ConnectorJar(
        artifacts=("iceberg-flink-runtime-{flink}",),
        names=("iceberg",),
        packages=("org.apache.iceberg.",),
        group="org.apache.iceberg",
    ),
    "paimon": ConnectorJar(
        artifacts=("paimon-flink-{flink}",),
        names=("paimon",),
        packages=("org.apache.paimon.",),
        group="org.apache.paimon",
    ),
    "hive": ConnectorJar(
        artifacts=("flink-sql-connector-hive-3.1.3_2.12", "flink-sql-connector-hive-2.3.10_2.12"),
        names=("hive",),
        packages=("org.apache.flink.table.catalog.hive.", "org.apache.flink.connectors.hive."),
        of_flink=True,
    ),
    "hadoop": ConnectorJar(
        artifacts=("hadoop-client-runtime",),
        packages=("org.apache.hadoop.",),
        whole=False,
        known=("3.4.1",),
        group="org.apache.hadoop",
    ),
    "mysql": ConnectorJar(
        artifacts=("mysql-connector-j",), packages=("com.mysql.",), known=("8.4.0",), group="com.mysql"
    ),
    "scala": ConnectorJar(
        artifacts=("flink-scala_2.12",),
        packages=("org.apache.flink.api.scala.", "org.apache.flink.streaming.api.scala.", "scala."),
        beside=("flink-streaming-scala_2.12",),
        newer=(_SCALA,),
        whole=False,
        of_flink=True,
        distributed=True,
    ),
    "state-processor": ConnectorJar(
        artifacts=("flink-state-processor-api",),
        packages=("org.apache.flink.state.api.",),
        of_flink=True,
        distributed=True,
    ),
    **{
        name: ConnectorJar(artifacts=(name,), of_flink=True, distributed=True)
        for name in ("flink-s3-fs-hadoop", "flink-azure-fs-hadoop", "flink-gs-fs-hadoop", "flink-oss-fs-hadoop")
    },
    "avro": _format("flink-sql-avro", "avro", package="org.apache.flink.formats.avro.Avro"),
    "avro-confluent": _format(
        "flink-sql-avro-confluent-registry",
        "avro-confluent",
        "debezium-avro-confluent",
        package="org.apache.flink.formats.avro.registry.confluent.",
    ),
    "orc": _format("flink-sql-orc", "orc", package="org.apache.flink.orc."),
    "parquet": _format("flink-sql-parquet", "parquet", package="org.apache.flink.formats.parquet."),
    "protobuf": _format("flink-sql-protobuf", "protobuf", package="org.apache.flink.formats.protobuf."),
}


def coordinates(wanted: str, flink: str) -> str:
    """The Maven coordinates of a connector, ``NAME`` or ``NAME:RELEASE``. Raises JvmError if it has no release."""
    name, _, release = wanted.partition(":")
    return str(_chosen(name, release, flink)[0][0])


def connector_jars(wanted: Sequence[str], flink: str) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The jars of connectors, each ``NAME`` or ``NAME:RELEASE``, for a version of Flink, and the notes on them.

    They are downloaded if they are not in the cache. Raises JvmError for unknown connectors, or those without a release.
    """
    jars: dict[Path, None] = {}
    notes = []
    for one in wanted:
        name, _, release = one.partition(":")
        artifacts, other = _chosen(name, release, flink)
        jars |= dict.fromkeys(fetch(f"connector-{name}", artifacts))
        if other:
            notes.append(f"The connector {name} is {artifacts[0]}: none is released for Flink {flink}.")
    return tuple(jars), tuple(notes)


def advice(name: str) -> tuple[str, str] | None:
    """The advice for a connector or format with this name in SQL, or for one of its classes, and the option; None if
    unknown.
    """
    for connector, jar in CONNECTORS.items():
        if name in jar.names or name.startswith(jar.packages or ("\0",)):
            return FETCHED.format(connector), CONNECTOR.format(connector)
    return None


def named_by(option: str | None) -> str | None:
    """The connector that an option asks for; None for any other option."""
    return next((name for name in CONNECTORS if option == CONNECTOR.format(name)), None)


def distributed(option: str | None) -> str | None:
    """The connector that an option asks for, if Flink's distribution has it; else None."""
    name = named_by(option)
    return None if name is None or not CONNECTORS[name].distributed else name


def without_factory(said: str) -> str | None:
    """The connector whose factory Flink did not find, from the message; None for an unknown one."""
    found = NO_FACTORY.search(said)
    told = None if found is None else advice(found[1])
    return None if told is None else named_by(told[1])


def in_release_of(text: str, name: str, flink: str) -> str:
    """A connector in the release of the jar that a text names, ``NAME:RELEASE``, if that is for a version of Flink;
    else ``NAME``.
    """
    artifacts = {one.replace("-sql-", "-") for one in CONNECTORS[name].artifacts}
    releases_named = (
        release
        for artifact, release, of in _JAR.findall(text)
        if artifact.replace("-sql-", "-") in artifacts and parsed(of) == parsed(flink)
    )
    return next((f"{name}:{release}" for release in releases_named), name)


def advice_on_file_system(plugins: str) -> tuple[str, str] | None:
    """The advice for a file system for which Flink names plugins, ``X, Y``, and the option; None if unknown."""
    name = next((one for one in plugins.split(", ") if one in CONNECTORS), None)
    return None if name is None else (FETCHED.format(name), CONNECTOR.format(name))


def advice_on_factory(name: str) -> tuple[str, str]:
    """The advice for a connector, format or catalog whose factory Flink does not find, and the option."""
    return advice(name) or (
        f"Put the jar of the connector, format or catalog {name!r} on the class path with --classpath.",
        CLASSPATH,
    )


def _chosen(name: str, release: str, flink: str) -> tuple[list[Artifact], bool]:
    """The artifacts of a connector, and whether they are for another version of Flink."""
    jar = CONNECTORS.get(name)
    if jar is None:
        raise JvmError(
            f"There is no connector {name!r}: known are {', '.join(CONNECTORS)}.",
            "Put the jar of any other on the class path: --classpath JAR.",
        )
    artifacts = [name for artifact in jar.artifacts for name in _named(artifact, flink)]
    for artifact in artifacts:
        there = releases(jar.group, artifact) or (jar.known if artifact == artifacts[0] else ())
        best = release or (flink if jar.of_flink and flink in there else fitting(there, flink, jar.of_flink))
        if artifact not in jar.artifacts and not release:
            best = max(there, key=lambda one: _number(one) or (), default=None)
        if best is not None and (not release or release in there or len(artifacts) == 1):
            beside = [one for one in jar.beside if best in releases(jar.group, one)]
            made = [Artifact(group=jar.group, name=one, version=best, alone=jar.whole) for one in (artifact, *beside)]
            suffix = best.partition("-")[2] if artifact in jar.artifacts else artifact.rpartition("-")[2]
            return [*made, *jar.newer], bool(suffix) and not release and parsed(suffix) != parsed(flink)
    raise JvmError(
        f"The connector {name} has no release for Flink {flink}.",
        f"Give another release that works (--connector {name}:RELEASE), or its jar: --classpath JAR.",
    )


def _named(artifact: str, flink: str) -> list[str]:
    """The names of an artifact: one for each version of Flink that it can be for, the wanted one first."""
    major, minor = parsed(flink)
    names = (artifact.format(flink=f"{major}.{one}") for one in range(minor, -1, -1))
    return list(dict.fromkeys(names))


def fitting(there: Sequence[str], flink: str, of_flink: bool = False) -> str | None:
    """The release for a version of Flink, or else for the latest earlier one of the same API; None if there is none.

    ``3.2.0-1.19`` is for Flink 1.19. A jar that is released with Flink (``of_flink``) is for the Flink of its own version. Any
    other is for every Flink.
    """
    wanted = parsed(flink)
    found: list[tuple[tuple[int, int], tuple[int, ...], str]] = []
    for one in there:
        own, _, behind = one.partition("-")
        number = _number(own)
        if number is None or (behind and _number(behind) is None):
            continue
        of = parsed(behind) if behind else number[:2] if of_flink or _is_bundled(number) else wanted
        if (of == wanted) if of_flink else (of[0] == wanted[0] and of <= wanted):
            found.append(((of[0], of[1]), number, one))
    return max(found)[2] if found else None


def _is_bundled(number: Sequence[int]) -> bool:
    """True for a release of the time when connectors were released with Flink: it has Flink's version."""
    return tuple(number[:2]) >= (1, 9) and number[0] == 1


def _number(version: str) -> tuple[int, ...] | None:
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else None
