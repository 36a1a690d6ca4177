"""Programs import PyFlink's names from wherever PyFlink's modules have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.process import load_one
from compat.loader.request import Loaded, Request


def crash_of(tmp_path: Path, source: str) -> tuple[str, str] | None:
    path = tmp_path / "job.py"
    path.write_text(source, encoding="utf-8")
    outcome = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(outcome, Loaded)
    return None if outcome.crash is None else (outcome.crash.type, outcome.crash.message)


@pytest.mark.parametrize(
    "line",
    [
        "from pyflink.datastream.window import Time, TumblingEventTimeWindows",
        "from pyflink.datastream.functions import ValueStateDescriptor, MapFunction",
        "from pyflink.datastream.data_stream import DataStream, Types, MapFunction",
        "from pyflink.datastream.stream_execution_environment import Types, WatermarkStrategy",
        "from pyflink.datastream.connectors.kafka import KafkaSource, Types",
    ],
)
def test_modules_also_give_what_they_import_from_one_another(tmp_path: Path, line: str) -> None:
    assert crash_of(tmp_path, line) is None


@pytest.mark.parametrize(
    "line", ["from pyflink.datastream.window import NoSuchThing", "from pyflink.common import MapFunction"]
)
def test_what_pyflink_does_not_have_is_refused(tmp_path: Path, line: str) -> None:
    crash = crash_of(tmp_path, line)

    assert crash is not None
    assert crash[0] == "ImportError"


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import pyflink.table", True),
        ("from pyflink.table.expressions import col", True),
        ("from pyflink import table", True),
        ("def job():\n    from pyflink.java_gateway import get_gateway\njob()", True),
        ("def job():\n    import pyflink.table", False),
        ("import pyflink.datastream, pyflink.common", False),
    ],
)
def test_what_only_pyflink_itself_has_is_told_from_a_program_that_fails(
    tmp_path: Path, source: str, needs: bool
) -> None:
    path = tmp_path / "job.py"
    path.write_text(source, encoding="utf-8")
    outcome = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(outcome, Loaded)
    assert (outcome.plans, outcome.needs_pyflink, outcome.steady) == ((), needs, not needs)
    assert (outcome.need is not None) == needs
