"""A connector is a folder and a line of the table; what it does not say has a default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compat.compiler.datastream.connectors.base import Sink, Source
from compat.compiler.spark.connectors import table
from compat.compiler.spark.connectors.base import Connector, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.sinks import (
    SinkFolder,
    committer_of,
    folder_of,
    placed,
    unsupported_sink,
    writer_of,
)
from compat.compiler.spark.connectors.sources import enumerator_of, reader_of, unsupported_source
from compat.compiler.spark.runtime_api.sinks import WriterContext
from compat.compiler.transformations import operators as ops
from tests.compiler.spark.test_sinks import Ledger
from tests.compiler.spark.test_sources import CountdownEnumerator, CountdownReader

FOLDERS = Path(table.__file__).parent


class QueueSource(Source):
    connector = "queue"


class QueueSink(Sink):
    connector = "queue"


class RunsSources(SourceConnector):
    def enumerator(self, source: Any, parallelism: int) -> Any:
        return CountdownEnumerator([parallelism], concurrent=False)

    def reader(self, source: Any, output_type: Any) -> CountdownReader:
        return CountdownReader()


class RunsSinks(SinkConnector):
    folder = "where"

    def writer(self, sink: Any, context: WriterContext) -> Any:
        return (sink, context)


def plug(monkeypatch: pytest.MonkeyPatch, connector: Connector) -> None:
    """The folder and the line of a connector."""
    made = ModuleType("connector")
    made.__dict__["CONNECTORS"] = {"queue": connector}
    monkeypatch.setitem(sys.modules, f"{table.__package__}.queue", ModuleType("queue"))
    monkeypatch.setitem(sys.modules, f"{table.__package__}.queue.connector", made)
    monkeypatch.setitem(table.CONNECTORS, "queue", "queue")


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, Connector(source=RunsSources(), sink=RunsSinks()))


def source_operator() -> ops.Source:
    return ops.Source(function=QueueSource())


def test_every_folder_is_in_the_table() -> None:
    assert set(table.CONNECTORS.values()) == {path.parent.name for path in FOLDERS.glob("*/connector.py")}


@pytest.mark.parametrize("name", table.CONNECTORS)
def test_every_line_has_something_that_runs_it(name: str) -> None:
    found = table.connector_of(name)
    assert (found.source or found.sink) is not None


def test_a_job_imports_the_connectors_that_it_has() -> None:
    code = """
import sys
from compat.compiler.spark.connectors import sinks, sources
print([one for one in sys.modules if one.startswith("compat.compiler.spark.connectors.") and one.endswith(".connector")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_folder_of_connectors_has_what_runs_it() -> None:
    assert {path.parent for path in FOLDERS.glob("*/*.py")} == {path.parent for path in FOLDERS.glob("*/connector.py")}


def test_a_connector_is_run_once_its_line_is_there(queue: None, tmp_path: Path) -> None:
    assert unsupported_source(source_operator()) is None
    assert [split["left"] for split in enumerator_of(source_operator(), 3).discover(set())] == [3]
    assert isinstance(reader_of(source_operator(), None), CountdownReader)
    sink = QueueSink(settings={"where": str(tmp_path)})
    context = WriterContext("id", 0, 1, "attempt")
    assert unsupported_sink(sink) is None
    assert writer_of(sink, context) == (sink, context)
    assert committer_of(sink) is None
    assert folder_of(placed(sink)) == SinkFolder("queue", str(tmp_path))


def test_without_its_line_it_is_not() -> None:
    assert "no reader for the source QueueSource" in (unsupported_source(source_operator()) or "")
    assert "no writer for the sink QueueSink" in (unsupported_sink(QueueSink()) or "")


def test_a_connector_may_have_sources_only(monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, Connector(source=RunsSources()))
    assert unsupported_source(source_operator()) is None
    assert "no writer" in (unsupported_sink(QueueSink()) or "")


def test_what_the_program_makes_itself_goes_before_the_table(queue: None, tmp_path: Path) -> None:
    class Own(Ledger):
        connector = "queue"

    own = Own(tmp_path)
    assert folder_of(own) is None
    assert placed(own) is own
    assert committer_of(own) is own
