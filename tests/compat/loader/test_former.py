"""Names that PyFlink had once: what is written now, since when, and for which version a program with them is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.cli.push import files_of
from compat.comparison import Comparison, compare
from compat.loader.failure import Failure, Undecidable
from compat.loader.former import advice, advice_on, uses
from compat.loader.inputs import LoadOptions
from compat.loader.jvm.failures import of_another_version
from tests import needs

OLD_PROGRAM = """\
from pyflink.dataset import ExecutionEnvironment
from pyflink.table import BatchTableEnvironment, CsvTableSource, EnvironmentSettings, StreamTableEnvironment
from pyflink.table.descriptors import FileSystem, OldCsv, Schema
settings = EnvironmentSettings.new_instance().use_blink_planner().build()
t_env = StreamTableEnvironment.create(environment_settings=settings)
t_env.connect(FileSystem().path("x"))
t_env.sql_update("INSERT INTO a SELECT * FROM b")
t_env.register_table_source("a", CsvTableSource("a", [], []))
t_env.execute("job")
"""


def test_each_former_name_is_found_with_its_line() -> None:
    assert [(one.line, one.former.name, one.former.ended) for one in uses(OLD_PROGRAM.encode())] == [
        (1, "pyflink.dataset", "1.14"),
        (2, "BatchTableEnvironment", "1.14"),
        (2, "CsvTableSource", "2.0"),
        (3, "FileSystem", "1.14"),
        (3, "OldCsv", "1.14"),
        (4, "use_blink_planner()", "1.15"),
        (6, "connect()", "1.14"),
        (7, "sql_update()", "1.15"),
        (8, "register_table_source()", "2.0"),
        (9, "execute()", "1.15"),
    ]


def test_a_name_that_import_star_gave_is_found() -> None:
    source = b"from pyflink.table import *\nt = BatchTableEnvironment.create()\nt.connect(Json())\nt.insert_into('a')\n"
    assert [(one.line, one.former.name) for one in uses(source)] == [
        (2, "BatchTableEnvironment"),
        (3, "connect()"),
        (3, "Json"),
        (4, "insert_into()"),
    ]


STAR = """
from pyflink.table.expressions import col
from pyflink.table import *
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
"""


def test_a_program_that_imports_all_of_the_table_api_needs_pyflink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_jvm()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("COMPAT_PYFLINK", raising=False)
    (tmp_path / "job.py").write_text(STAR, encoding="utf-8")
    done = CliRunner().invoke(main, ["plan", str(tmp_path / "job.py")])
    assert "The program needs PyFlink itself" in done.output


@pytest.mark.parametrize(
    "source",
    [
        "import psycopg2\nconnection = psycopg2.connect()\nconnection.execute('SELECT 1')",
        "from json import Json\nfrom kafka import Kafka",
        "from pyflink.datastream import StreamExecutionEnvironment as E\nenv = E.create()\nenv.execute('job')",
        "t = TableEnvironment.create(settings)\nt = other()\nt.execute('x')",
        "from pyflink.table.descriptors import Rowtime, Schema",
        "this is no Python",
    ],
)
def test_what_others_have_too_is_not_taken_for_it(source: str) -> None:
    assert uses(source.encode()) == []


@pytest.mark.parametrize(
    ("message", "flink", "other", "says"),
    [
        (
            "No module named 'pyflink.dataset'",
            "2.3",
            None,
            "pyflink.dataset ended with Flink 1.14: write TableEnvironment",
        ),
        (
            "No module named 'pyflink.dataset.execution_environment'",
            "1.20",
            None,
            "pyflink.dataset ended with Flink 1.14",
        ),
        (
            "'Builder' object has no attribute 'use_blink_planner'",
            "1.20",
            None,
            "use_blink_planner() ended with Flink 1.15",
        ),
        ("'StreamTableEnvironment' object has no attribute 'connect'", "2.3", None, "connect() ended with Flink 1.14"),
        (
            "cannot import name 'CsvTableSource' from 'pyflink.table' (/env/pyflink/table/__init__.py)",
            "2.3",
            "1.20",
            "CsvTableSource ended with Flink 2.0: write CREATE TABLE … WITH ('connector' = …) in execute_sql(). "
            "PyFlink 1.20 still has it",
        ),
        (
            "'TableEnvironment' object has no attribute 'scan'",
            "2.3",
            "1.20",
            "scan() ended with Flink 2.0: write from_path()",
        ),
        (
            "'StreamExecutionEnvironment' object has no attribute 'set_restart_strategy'",
            "2.3",
            "1.20",
            "PyFlink 1.20 has it, and 2.3 has not",
        ),
        (
            "cannot import name 'JsonRowDeserializationSchema' from 'pyflink.common.serialization'",
            "2.3",
            None,
            "in another place: from pyflink.datastream.formats.json import",
        ),
        (
            "Could not found the Java class 'org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer'. The Java",
            "2.3",
            "1.20",
            "FlinkKafkaConsumer ended with Flink 2.0: write KafkaSource. Flink 1.20 still has it",
        ),
        (
            "NoClassDefFoundError: The class org.apache.flink.streaming.api.functions.source.SourceFunction is missing.",
            "2.3",
            "1.20",
            "SourceFunction ended with Flink 2.0: its connector's release is for Flink 1, take one for Flink 2.",
        ),
        ("name 'BatchTableEnvironment' is not defined", "1.20", None, "BatchTableEnvironment ended with Flink 1.14"),
        (
            "The current table has no column named 'insert_into', available",
            "1.20",
            None,
            "write execute_insert(), which",
        ),
        ("The current table has no column named 'b', available columns: [a]", "1.20", None, None),
        ("name 'orders' is not defined", "1.20", None, None),
        ("'Orders' object has no attribute 'scan'", "2.3", None, None),
        ("No module named 'pandas'", "2.3", None, None),
    ],
)
def test_what_python_says_is_lacking_is_explained(
    message: str, flink: str, other: str | None, says: str | None
) -> None:
    version, said = advice_on(message, flink)
    assert version == other
    assert (said is None) == (says is None)
    assert says is None or (said is not None and says in said)


def test_pyflinks_own_failure_says_the_version_and_how_to_get_it() -> None:
    failure = Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message="The program failed: ImportError: cannot import name 'CsvTableSink' from 'pyflink.table'",
        name="job.py",
    )
    told = of_another_version(failure, "2.3.0", b"")
    assert told.flink == "1.20"
    assert told.hint is not None
    assert told.hint.endswith("compat setup pyflink 1.20 makes an environment with that version.")
    assert of_another_version(failure, "1.20.1", b"").flink is None
    assert advice("TableEnvironment", "scan", "1.20")[0] is None


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("'DataStream' object has no attribute 'keyby'", "No version of PyFlink has DataStream.keyby. It has key_by."),
        (
            "'StreamExecutionEnvironment' object has no attribute 'socket_text_stream'",
            "No version of PyFlink has StreamExecutionEnvironment.socket_text_stream. Leave it out.",
        ),
        (
            "type object 'Types' has no attribute 'Time'",
            "PyFlink 1.20 has it in another place: from pyflink.common.time import Time.",
        ),
        (
            "'TableEnvironment' object has no attribute 'executeSql'",
            "PyFlink writes names of Java with underscores: execute_sql.",
        ),
        ("'TableEnvironment' object has no attribute 'shop'", None),
        (
            "type object 'KafkaSource' has no attribute 'Earliest'",
            "No version of PyFlink has KafkaSource.Earliest.",
        ),
        (
            "No module named 'pyflink.ml'",
            "The package apache-flink-ml has it, whose releases are for PyFlink up to 1.17.",
        ),
        (
            "cannot import name 'col' from 'pyflink.table'",
            "PyFlink has it in another place: from pyflink.table.expressions import col.",
        ),
        ("'Mine' object has no attribute 'keyby'", None),
        ("'NoneType' object has no attribute 'key_by'", None),
    ],
)
def test_a_name_that_no_version_gives_to_a_class_is_told(message: str, says: str | None) -> None:
    assert advice_on(message, "1.20") == (None, says)


def test_a_version_that_lacks_another_name_of_the_program_is_no_advice() -> None:
    """``TimeCharacteristic`` is in PyFlink 1.20; what the program also has of Flink 1.13 is not."""
    failure = Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message="The program failed: ImportError: cannot import name 'TimeCharacteristic' from 'pyflink.datastream'",
        name="job.py",
        option="--connector kafka",
    )
    told = of_another_version(failure, "2.3.0", b"from pyflink.table.descriptors import Kafka\nKafka()\n")
    assert told.hint is not None
    assert told.hint.startswith("line 1: Kafka ended with Flink 1.14: write CREATE TABLE")
    assert (told.flink, told.option, told.command) == (None, None, None)
    passed = of_another_version(failure, "2.3.0", b"t = EnvironmentSettings.new_instance()\nt.use_blink_planner()\n")
    assert (passed.flink, passed.command) == ("1.20", "compat setup pyflink 1.20")
    still_there = of_another_version(failure, "2.3.0", b"t_env.register_function('f', f)\nt_env.scan('t')\n")
    assert still_there.flink == "1.20"


def test_a_module_that_pyflink_had_is_nothing_to_install() -> None:
    failure = Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message="The program failed: ModuleNotFoundError: No module named 'pyflink.dataset'",
        name="job.py",
        hint="Install what provides the module 'pyflink.dataset'.",
    )
    told = of_another_version(failure, "2.3.0", b"").hint
    assert told is not None
    assert told.startswith("pyflink.dataset ended with Flink 1.14: write")


TABLES = """
from pyflink.table import EnvironmentSettings, TableEnvironment
settings = EnvironmentSettings.new_instance(){planner}.in_streaming_mode().build()
t_env = TableEnvironment.create(settings)
t_env.{call}("orders", None)
"""


def needs_jvm() -> None:
    needs.module("jpype", "jvm")


def hints(folder: Path, planner: str, call: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """What the check says of a program with the Table API where no PyFlink is, and how to get one."""
    needs_jvm()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("COMPAT_PYFLINK", raising=False)
    path = folder / "job.py"
    path.write_text(TABLES.format(planner=planner, call=call), encoding="utf-8")
    (outcome,) = compare(Comparison(str(path), str(path), load=LoadOptions.given({}))).outcomes
    failure = outcome.failures[0]  # type: ignore[union-attr]
    return failure.message, failure.hint


def test_without_pyflink_a_program_is_told_its_former_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message, hint = hints(tmp_path, ".use_blink_planner()", "create_temporary_view", monkeypatch)
    assert "needs PyFlink itself" in message
    first, second = hint.splitlines()
    assert first.endswith(
        "job.py:3: use_blink_planner() ended with Flink 1.15: remove the call, there is only one planner."
    )
    assert second.startswith("compat setup pyflink 2.3 makes an environment")


def test_without_pyflink_the_version_is_the_one_that_has_the_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hint = hints(tmp_path, "", "register_table_source", monkeypatch)
    assert hint.startswith("compat setup pyflink 1.20 makes an environment")


def test_a_program_of_old_modules_is_told_what_they_are_called_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_jvm()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("COMPAT_PYFLINK", raising=False)
    (tmp_path / "job.py").write_text("from pyflink.dataset import ExecutionEnvironment\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["plan", str(tmp_path / "job.py")])
    assert done.exit_code == 2
    assert "job.py:1: pyflink.dataset ended with Flink 1.14: write TableEnvironment.create(" in done.output


JOB = """
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream import TimeCharacteristic
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
env.execute()
"""


def test_a_program_that_is_sent_is_of_the_version_whose_api_it_uses(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB, encoding="utf-8")
    sent = files_of(str(tmp_path / "job.py"), (), LoadOptions.given({}))
    assert (sent["program"], sent["flink"]) == ("job.py", "1.20")
