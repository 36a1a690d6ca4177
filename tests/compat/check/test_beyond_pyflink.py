"""Names that PyFlink lacks are told wherever a program uses them, and what comes next is what it is written for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.process import load_one
from compat.loader.request import Loaded, Request
from compat.state.model.job import Plan

CACHE = "RuntimeContext.get_distributed_cache"
DELTA = "pyflink.datastream.connectors.delta.DeltaSource"
GENERATOR = "pyflink.datastream.connectors.datagen.DataGeneratorSource"
LISTENER = "StreamExecutionEnvironment.register_job_listener"
SOCKET = "pyflink.datastream.connectors.socket.SocketTextSource"

PROGRAM = """{first}from pyflink.common import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.window import GlobalWindows
{imports}

class Counts(KeyedProcessFunction):
    def open(self, context):
        {opened}

    def process_element(self, value, ctx):
        {processed}
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1, 2]).key_by(lambda n: n)
{before}
stream.process(Counts()).uid("counts").print()
env.execute()
{behind}
"""
PARTS = {"first": "", "imports": "", "opened": "pass", "processed": "pass", "before": "", "behind": ""}

USES = [
    ("opened", "context.get_distributed_cache()", CACHE, "run"),
    ("processed", "self.cache = lambda: self.context.get_distributed_cache().get_file('a')", CACHE, "run"),
    ("before", "loop = stream.iterate", "KeyedStream.iterate", "built"),
    ("before", "loop = getattr(stream, 'iterate')", "KeyedStream.iterate", "built"),
    (
        "before",
        "GlobalWindows.create_with_end_of_stream_trigger()",
        "GlobalWindows.create_with_end_of_stream_trigger",
        "built",
    ),
    ("before", "WatermarkStrategy.for_generator(dict)", "WatermarkStrategy.for_generator", "built"),
    ("before", "env.register_job_listener(None)", LISTENER, "built"),
    ("behind", "env.register_job_listener(None)", LISTENER, "ended"),
    ("behind", "listen = env.register_job_listener", LISTENER, "ended"),
    ("imports", "from pyflink.datastream.connectors.delta import DeltaSource", DELTA, "built"),
    ("imports", "from pyflink.datastream.connectors import delta; delta.DeltaSource", DELTA, "built"),
    ("imports", "from pyflink.datastream.connectors.datagen import DataGeneratorSource", GENERATOR, "built"),
    ("imports", "from pyflink.datastream.connectors.socket import SocketTextSource", SOCKET, "built"),
]


def written(tmp_path: Path, name: str = "new.py", **parts: str) -> Path:
    path = tmp_path / name
    path.write_text(PROGRAM.format(**PARTS | parts))
    return path


def noted(path: Path, flink: str) -> list[tuple[str, str, str]]:
    """What the program uses and PyFlink lacks: the name, when that fails, and the text of its line."""
    loaded = load_one(Request(path=str(path), shown=path.name, flink=flink))
    assert isinstance(loaded, Loaded)
    assert loaded.crash is None
    (plan,) = loaded.plans
    assert isinstance(plan, Plan)
    lines = path.read_text().splitlines()
    return [(each.name, each.when, lines[each.source.line - 1].strip()) for each in plan.beyond if each.source]


@pytest.mark.parametrize(("part", "line", "name", "when"), USES)
@pytest.mark.parametrize("flink", ["2.3", "1.20"])
def test_a_use_is_noted_with_its_line(tmp_path: Path, part: str, line: str, name: str, when: str, flink: str) -> None:
    assert noted(written(tmp_path, **{part: line}), flink) == [(name, when, line)]


def test_a_program_of_pyflink_s_own_words_is_noted_nothing_of(tmp_path: Path) -> None:
    """Nor one that is for Spark, whatever it uses."""
    assert noted(written(tmp_path), "2.3") == []
    everything = {part: line for part, line, _, _ in USES} | {"first": "import compat.pyflink\n"}
    assert noted(written(tmp_path, **everything), "2.3") == []


@pytest.mark.parametrize(
    ("part", "line", "said"),
    [
        ("before", "stream.iterate", "ends with an AttributeError there, and submits no job"),
        ("imports", USES[-1][1], "ends with a ModuleNotFoundError there, and submits no job"),
        ("processed", "self.cache = self.context.get_distributed_cache()", "the job fails with an AttributeError"),
        ("behind", "stream.iterate", "fails with an AttributeError there, after its last job"),
    ],
)
def test_what_fails_is_said(tmp_path: Path, part: str, line: str, said: str) -> None:
    old, new = written(tmp_path, "old.py"), written(tmp_path, **{part: line})
    result = CliRunner().invoke(main, ["check", str(old), str(new)])
    assert result.exit_code == 1, result.output
    assert "error CMP907" in result.output
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize("for_spark", [False, True])
def test_only_spark_is_offered_to_a_program_that_is_written_for_it(tmp_path: Path, for_spark: bool) -> None:
    first = "import compat.pyflink\n" if for_spark else ""
    new = str(written(tmp_path, first=first))
    result = CliRunner().invoke(main, ["check", str(written(tmp_path, "old.py")), new])
    assert result.exit_code == 0, result.output
    assert "compat job run" in result.output
    assert ("flink run" in result.output) is not for_spark


HAS_IT = "PyFlink {} has it, and {} has not: give --flink {}"


@pytest.mark.parametrize(
    ("flink", "line", "said"),
    [
        ("2.3", "env.set_stream_time_characteristic(None)", "only PyFlink 1.20 has it (--flink 1.20)"),
        ("1.20", "env.get_checkpoint_config().get_aligned_checkpoint_timeout", "only PyFlink 2.3 has it (--flink 2.3)"),
        ("2.3", "from pyflink.datastream import FsStateBackend", HAS_IT.format("1.20", "2.3", "1.20")),
        ("2.3", "import pyflink.datastream as ds; ds.FsStateBackend", HAS_IT.format("1.20", "2.3", "1.20")),
        ("2.3", "from pyflink.datastream import time_characteristic", HAS_IT.format("1.20", "2.3", "1.20")),
        ("1.20", "import pyflink.datastream.async_data_stream", HAS_IT.format("2.3", "1.20", "2.3")),
    ],
)
def test_names_of_another_version_are_told_with_that_and_their_line(
    tmp_path: Path, flink: str, line: str, said: str
) -> None:
    new = written(tmp_path, before=line)
    number = new.read_text().splitlines().index(line) + 1
    result = CliRunner().invoke(main, ["check", str(written(tmp_path, "old.py")), str(new), "--flink", flink])
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert f"new.py:{number}" in result.output
