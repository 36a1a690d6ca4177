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
        ("import pyflink.table", False),
        ("from pyflink.table.expressions import col", False),
        ("from pyflink import table", False),
        ("from pyflink.table import *", True),
        ("try:\n    import pyflink.table\nexcept ImportError:\n    pass", True),
        ("__import__('pyflink.table')", True),
        ("import pyflink.table.udf\n@pyflink.table.udf.udf(result_type='INT')\ndef one(it):\n    return it", False),
        ("from pyflink.table.udf import ScalarFunction\nclass One(ScalarFunction):\n    pass", False),
        ("from pyflink.table import Table\ndef rows(table: Table) -> list[Table]:\n    return table.execute()", False),
        ("from pyflink.table.udf import ScalarFunction\nclass One(ScalarFunction):\n    pass\nOne()", True),
        ("from pyflink import table\nif table:\n    pass", True),
        ("from pyflink.table import DataTypes as T\ntry:\n    T.ROW([])\nexcept Exception:\n    pass", True),
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
    loaded = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(loaded, Loaded)
    assert (loaded.needs_pyflink is not None, loaded.steady, loaded.crash) == (needs, not needs, None)


@pytest.mark.parametrize(
    ("source", "line", "asked"),
    [
        (
            "import sys\nfrom pyflink.table import EnvironmentSettings\nEnvironmentSettings.new_instance()",
            3,
            "EnvironmentSettings.new_instance, which building the job uses: it is part of the Table API",
        ),
        (
            "from pyflink.table import *",
            1,
            "pyflink.table",
        ),
        (
            "def job():\n    from pyflink.java_gateway import get_gateway\n\njob()",
            2,
            "pyflink.java_gateway is an internal",
        ),
        ("from pyflink.datastream.utils import convert_to_python_obj", 1, "utils.convert_to_python_obj is an inner"),
    ],
)
def test_what_needs_pyflink_is_told_with_its_line(tmp_path: Path, source: str, line: int, asked: str) -> None:
    path = tmp_path / "job.py"
    path.write_text(source, encoding="utf-8")
    loaded = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(loaded, Loaded)
    assert loaded.needs_pyflink is not None
    assert loaded.needs_pyflink.frames[-1].line == line
    assert asked in loaded.needs_pyflink.message


@pytest.mark.parametrize(
    ("source", "flink", "other"),
    [
        ("from pyflink.datastream import TimeCharacteristic", "2.3", "1.20"),
        ("from pyflink.datastream.checkpoint_config import ExternalizedCheckpointCleanup", "2.3", "1.20"),
        ("import pyflink.datastream.time_characteristic", "2.3", "1.20"),
        ("from pyflink.datastream import AsyncDataStream", "1.20", "2.3"),
        ("from pyflink.datastream.connectors.dynamic_kafka import DynamicKafkaSource", "1.20", "2.3"),
        ("from pyflink.datastream import StreamExecutionEnvironment as E\nE.read_text_file", "2.3", "1.20"),
        ("from pyflink.common import Configuration\nConfiguration.from_dict({})", "1.20", "2.3"),
    ],
)
def test_names_of_another_version_are_refused(tmp_path: Path, source: str, flink: str, other: str) -> None:
    path = tmp_path / "job.py"
    path.write_text(source, encoding="utf-8")
    for version in (flink, other):
        loaded = load_one(Request(path=str(path), shown="job.py", flink=version))
        assert isinstance(loaded, Loaded)
        if version == other:
            assert loaded.crash is None
            continue
        assert loaded.crash is not None
        assert loaded.crash.type in ("ImportError", "ModuleNotFoundError", "AttributeError")
        assert f"--flink {other}" in (loaded.crash.hint or loaded.crash.message)
        assert "compat." not in loaded.crash.message


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("E.get_execution_environment().from_collection()", "from_collection() missing 1 required positional argument"),
        ("E.get_execution_environment().from_collection([1]).sink_to()", "sink_to() missing 1 required"),
        ("E.get_execution_environment().from_collection([1]).map()", "DataStream.map() missing 1 required"),
        ("SlidingEventTimeWindows(1)", "__init__() missing 2 required positional arguments"),
        ("Mine.take()", "Mine.take() missing 1 required positional argument"),
    ],
)
def test_a_wrong_call_is_told_without_names_of_ours(tmp_path: Path, call: str, says: str) -> None:
    """Names of the program's own stay."""
    path = tmp_path / "job.py"
    source = (
        "from pyflink.datastream import StreamExecutionEnvironment as E\n"
        "from pyflink.datastream.window import SlidingEventTimeWindows\n"
        "class Mine:\n    def take(self): ...\n"
    )
    path.write_text(source + call, encoding="utf-8")
    loaded = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(loaded, Loaded)
    assert loaded.crash is not None
    assert loaded.crash.message.startswith(says)


def test_the_version_is_that_of_the_program_s_flink(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(
        "import pyflink, pyflink.version\nraise ValueError(pyflink.__version__, pyflink.version.__version__)"
    )
    loaded = load_one(Request(path=str(path), shown="job.py", flink="1.20"))
    assert isinstance(loaded, Loaded)
    assert loaded.crash is not None
    assert loaded.crash.message == "('1.20.0', '1.20.0')"


def test_programs_may_tell_where_pyflink_is(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(
        "import os\nimport pyflink\nprint(os.path.dirname(os.path.abspath(pyflink.__file__)))\npyflink.nothing"
    )
    loaded = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(loaded, Loaded)
    assert loaded.crash is not None
    assert loaded.crash.frames[-1].line == 4
    assert loaded.crash.said.endswith("site-packages/pyflink")
