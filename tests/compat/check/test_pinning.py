"""Sinks take no user hash: where their ids move, the savepoint is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cli import main

PROGRAM = """
from pyflink.common import Types
from pyflink.common.serialization import Encoder
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment()
sink = FileSink.for_row_format("/out", Encoder.simple_string_encoder()).build()
env.from_collection([1, 2], Types.LONG()).uid("numbers"){}.sink_to(sink).name("files"){}
env.execute()
"""


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The report on a sink without a uid whose input is another one."""
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(PROGRAM.format("", ""))
    Path("new.py").write_text(PROGRAM.format(".rebalance().map(str, Types.STRING()).uid('text')", ""))
    result = CliRunner().invoke(main, ["check", "old.py", "new.py", "--output", "json"])
    assert result.exit_code == 1, result.output
    report: dict[str, Any] = json.loads(result.output)
    return report


def test_one_command_repairs_all_parts_of_a_sink(moved: dict[str, Any]) -> None:
    fixes = [fix for finding in moved["findings"] if finding["rule"] == "CMP102" for fix in finding["fixes"]]
    assert {fix["code"] for fix in fixes} == {
        "compat remap SAVEPOINT OUT --from-check REPORT",
        "--allowNonRestoredState",
    }
    assert all(fix["call"] is None for fix in fixes)


def test_the_report_tells_remap_what_it_needs(moved: dict[str, Any]) -> None:
    heirs = {row["old"]["name"]: row["successor"]["name"] for row in moved["mapping"] if row["successor"]}
    assert heirs == {"files: Writer": "files: Writer", "files: Committer": "files: Committer"}
