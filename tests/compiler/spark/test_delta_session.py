"""The state of a job is a Delta table like any other: Spark reads it, with Delta's jars of this machine or fetched ones."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.spark.driver import delta_jars
from compat.state.delta.errors import StoreError
from compat.tables import delta_session, read_table
from tests.compiler.spark.test_restore import WORDS, stopped
from tests.needs import offline

PAGES = Path(__file__).parents[3] / "docs" / "pages"
JARS = [f"{name}-{delta_jars._VERSION}.jar" for name in delta_jars._ARTIFACTS]


def test_the_state_as_an_arrow_table(cluster: Any) -> None:
    _, path = stopped(cluster)
    table = read_table(path, operator="count", state="count")
    assert dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == Counter(WORDS[:120])


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """What Spark would be started with, on a machine that has nothing of Delta."""
    found: list[Mapping[str, str]] = []

    class NoSpark:
        def __init__(self, settings: Mapping[str, str], log: str) -> None:
            found.append(settings)

        def session(self) -> str:
            return "a session"

    for name in ("home", "spark/jars"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(delta_jars, "_WithDelta", NoSpark)
    monkeypatch.setattr(delta_jars, "_homes", lambda: [tmp_path / "home"])
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return found


def put(*jars: Path) -> list[str]:
    for jar in jars:
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.touch()
    return list(map(str, jars))


def test_that_it_fetches_is_said_before(started: list[Mapping[str, str]], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert delta_session("log") == "a session"
    assert started[0]["spark.jars.packages"] == f"io.delta:delta-spark_4.2_2.13:{delta_jars._VERSION}"
    (said,) = caplog.messages
    assert "fetches io.delta:delta-spark" in said
    assert f"jars {JARS[0]} and {JARS[1]} with jars=" in said


@pytest.mark.parametrize(
    "layout",
    [
        lambda home, name, jar: home / ".ivy2.5.2" / "jars" / f"io.delta_{jar}",
        lambda home, name, jar: home / ".m2" / "repository" / "io" / "delta" / name / delta_jars._VERSION / jar,
    ],
    ids=["ivy", "maven"],
)
def test_jars_of_this_machine_are_taken(
    started: list[Mapping[str, str]], tmp_path: Path, layout: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there = put(*(layout(tmp_path / "home", name, jar) for name, jar in zip(delta_jars._ARTIFACTS, JARS, strict=True)))
    delta_session("log", options={"spark.jars": "mine.jar"})
    assert started[0]["spark.jars"] == ",".join(["mine.jar", *there])
    assert "spark.jars.packages" not in started[0]
    assert not caplog.messages
    Path(there[1]).unlink()
    delta_session("log")
    assert "spark.jars.packages" in started[1], "one jar alone is of no use"


def test_jars_that_are_given_are_taken(started: list[Mapping[str, str]], tmp_path: Path) -> None:
    there = put(*(tmp_path / jar for jar in JARS))
    delta_session("log", there)
    assert started[0]["spark.jars"] == ",".join(there)
    assert started[0]["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    with pytest.raises(StoreError, match=r"The jar /nowhere/delta-spark.jar is not there\. Without a network, give"):
        delta_session("log", ["/nowhere/delta-spark.jar"])


@pytest.mark.parametrize("how", ["spark.jars", "spark.jars.packages", "--jars", "class path"])
def test_nothing_is_added_where_spark_is_told(
    started: list[Mapping[str, str]], tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {how: f"/x/{JARS[0]}"} if how.startswith("spark.") else {}
    if how == "--jars":
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars /x/{JARS[0]},/x/{JARS[1]} pyspark-shell")
    elif how == "class path":
        put(tmp_path / "spark" / "jars" / JARS[0])
    delta_session("log", options=options)
    assert {key: text for key, text in started[0].items() if "jars" in key} == options


def test_a_spark_that_does_not_start_is_explained(
    started: list[Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("Java gateway process exited\nbefore sending its port number")

    monkeypatch.setattr(delta_jars._WithDelta, "session", fail)
    with pytest.raises(StoreError, match=r"port number\. spark\.log says why\. Without a network, give the jars"):
        delta_session("spark.log")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_a_savepoint(cluster: Any, tmp_path: Path) -> None:
    """Slow: it may have to fetch Delta's packages."""
    _, path = stopped(cluster)
    spark = delta_session(str(tmp_path / "spark.log"))
    try:
        rows = spark.read.format("delta").load(path).where("state = 'count' and not tombstone").select("key").distinct()
        assert rows.count() == len(set(WORDS[:120]))
        view = re.search(r"```sql\n(.*?)```", (PAGES / "state.md").read_text(), re.S)
        assert view is not None
        spark.sql(view[1].replace("{state}", path))
        current = spark.sql("select uid, count(*) from current_state where state = 'count' group by uid").collect()
        assert list(map(tuple, current)) == [("count", len(set(WORDS[:120])))]
        (comment,) = {
            row["comment"] for row in spark.sql(f"describe delta.`{path}`").collect() if row["col_name"] == "key"
        }
        assert comment.startswith("The key")
        assert spark.createDataFrame(read_table(path, operator="count", state="count")).count() == len(set(WORDS[:120]))
    finally:
        spark.stop()


OFFLINE = """
import sys
from compat.compiler.spark.driver import delta_jars
_, path, folder, *jars = sys.argv
if not jars:
    delta_jars._homes = lambda: []
spark = delta_jars.delta_session(folder + "/spark.log", jars=jars, options={"spark.jars.ivy": folder + "/ivy"})
print(spark.read.format("delta").load(path).where("state = 'count'").select("key").distinct().count())
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_without_a_network(cluster: Any, tmp_path: Path) -> None:
    """In a network of its own, which leads nowhere. Slow: it starts Spark twice, and may have to fetch Delta's packages."""
    alone = offline()
    _, path = stopped(cluster)
    if (jars := delta_jars._on_this_machine({})) is None:
        delta_session(str(tmp_path / "fetching.log")).stop()
        jars = delta_jars._on_this_machine({})
    assert jars

    def without_network(*given: str) -> subprocess.CompletedProcess[str]:
        command = [*alone, sys.executable, "-c", OFFLINE, path, str(tmp_path), *given]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = without_network(*jars)
    assert done.stdout.strip() == str(len(set(WORDS[:120]))), done.stderr
    done = without_network()
    assert done.returncode == 1
    assert done.stderr.index("Delta's jars are not on this machine") < done.stderr.index(
        "did not start with Delta's jars"
    )


COMMAND = """
import sys
from compat.cli import main
from compat.compiler.spark.driver import delta_jars
delta_jars._homes = lambda: []
main(["state", sys.argv[1], "--on", "spark", "--sql", "select 1"])
"""


@pytest.mark.spark
@pytest.mark.slow
def test_the_command_without_a_network(cluster: Any, tmp_path: Path) -> None:
    """What is about to be fetched is told first, and then how to do without. Slow: it starts Spark."""
    _, path = stopped(cluster)
    done = subprocess.run(
        [*offline(), sys.executable, "-c", COMMAND, path],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "PYSPARK_SUBMIT_ARGS": f"--conf spark.jars.ivy={tmp_path / 'ivy'} pyspark-shell",
        },
    )
    assert (done.returncode, done.stdout) == (2, "")
    fetching, failed = done.stderr.splitlines()
    assert fetching.startswith("Delta's jars are not on this machine: Spark fetches io.delta:delta-spark")
    assert failed.startswith("Spark did not start with Delta's jars: ")
    (log,) = tmp_path.glob("compat-state-*/spark.log")
    assert f"{log} says why. Without a network, give the jars" in failed
    assert "with jars=[…] or --jars in PYSPARK_SUBMIT_ARGS, or put them into ~/.m2" in failed
