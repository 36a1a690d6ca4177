"""``compat check`` and its neighbours on jobs that Flink builds: jars, SQL scripts, compiled plans, and plans made of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import compat
from compat.cli import main
from compat.testing import IncompatibleError, assert_compatible
from tests.compat.loader.jvm.golden import JAVA, records

pytestmark = pytest.mark.usefixtures("shared_jvms")

Run = Callable[..., Result]


@pytest.fixture
def run(flink, java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a command in an empty folder, with Flink's jars on the class path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLINK_HOME", raising=False)

    def call(*arguments: str, classpath: bool = True) -> Result:
        given = ["--classpath", os.pathsep.join(flink.classpath)] if classpath else []
        return CliRunner().invoke(main, [*arguments, *given])

    return call


def pair(name: str) -> tuple[str, ...]:
    """Copies a golden pair into the working folder; gives what names it on a command line."""
    for side in ("old", "new"):
        for ending in ("jar", "sql"):
            source = JAVA / "2.3.0" / name / f"{side}.{ending}"
            if source.exists():
                shutil.copy(source, f"{side}.{ending}")
                found = ending
    if found == "sql":
        return "old.sql", "new.sql"
    return "old.jar", "new.jar", "--main-class", records()["2.3.0", name]["entryClass"]


def words(result: Result) -> str:
    return " ".join(result.output.split())


def test_two_jars(run: Run) -> None:
    result = run("check", *pair("tuple_arity"))
    assert result.exit_code == 1, result.output
    assert "CMP404" in result.output
    assert "TupleArity.java:31" in result.output
    assert "Tuple2 became org.apache.flink.api.java.tuple.Tuple3" in words(result)
    assert "Next: compat rule CMP404" in words(result)


def test_nothing_is_left_behind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    assert run("check", *pair("uid_same")).exit_code == 0
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_class_that_gains_a_field_migrates(run: Run) -> None:
    result = run("check", *pair("pojo_field_added"), "--output", "json")
    report = json.loads(result.output)
    assert (result.exit_code, report["verdict"]) == (0, "compatible-with-migration")
    (found,) = (one for one in report["findings"] if one["rule"] == "CMP405")
    assert "is new" in found["reason"]
    again = run("check", *pair("pojo_field_added"))
    assert 'Next: flink run -s "$SAVEPOINT" -c PojoFieldAdded new.jar' in again.output


def test_a_job_is_compatible_with_itself(run: Run) -> None:
    result = run("check", *pair("uid_same"))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("COMPATIBLE")


def test_fixes_are_in_java(run: Run) -> None:
    old, new, *rest = pair("sink_committer_gen")
    result = run("check", old, new, *rest)
    assert result.exit_code == 1
    assert ".set_uid_hash" not in result.output


def test_a_savepoint_and_a_jar(run: Run) -> None:
    _, new, *rest = pair("tuple_arity")
    folder = JAVA / "2.3.0" / "tuple_arity" / "savepoint"
    result = run("check", str(folder), new, *rest)
    assert result.exit_code == 1, result.output
    assert "CMP404" in result.output
    several = run("check", "--savepoints", str(JAVA / "2.3.0" / "uid_same"), *pair("uid_same")[1:])
    assert several.exit_code == 0, several.output


def test_what_a_savepoint_does_not_tell_of_code_is_said_and_named_programs_tell(run: Run) -> None:
    old, new, *rest = pair("connect_swapped")
    folder = str(JAVA / "2.3.0" / "connect_swapped" / "savepoint")
    alone = run("check", folder, new, *rest)
    assert (alone.exit_code, "CMP427" in alone.output) == (0, True), alone.output
    named = run("check", folder, new, *rest, "--names", old)
    assert (named.exit_code, "CMP427" in named.output, "CMP113" in named.output) == (1, False, True), named.output


def test_a_plan_that_was_made_earlier(run: Run) -> None:
    old, new, *rest = pair("tuple_arity")
    made = run("plan", old, *rest, "--format", "json")
    assert made.exit_code == 0, made.output
    Path("old.json").write_text(made.output)
    result = run("check", "old.json", new, *rest)
    assert result.exit_code == 1, result.output
    assert "CMP404" in result.output
    Path("old.jar").unlink()
    kept = run("check", "old.json", "old.json", classpath=False)
    assert kept.exit_code == 0, kept.output


def test_scripts_in_sql(run: Run) -> None:
    result = run("check", *pair("q_agg_added"))
    assert result.exit_code == 1, result.output
    assert "DummyStreamExecutionEnvironment" not in result.output
    assert ".uid(" not in result.output


def test_explain(run: Run) -> None:
    old, new, *rest = pair("sink_committer_gen")
    result = run("explain", old, new, "Source: src", *rest)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--flink-home", "nowhere"), "nowhere"),
        ((), "--flink-version 2.3.0"),
        (("--classpath", "nowhere.jar"), "there is no such file or folder"),
    ],
)
def test_flink_that_is_not_there(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("check", *pair("uid_same"), *arguments, classpath=False)
    assert result.exit_code == 2
    assert said in words(result)


def test_a_jar_that_is_none(run: Run) -> None:
    Path("new.jar").write_text("not a jar")
    Path("old.jar").write_text("not a jar")
    result = run("check", "old.jar", "new.jar")
    assert result.exit_code == 2
    assert "is not a jar" in words(result)


def test_without_a_main_class_those_there_are_named(run: Run) -> None:
    _, new, *_ = pair("tuple_arity")
    result = run("plan", new)
    assert result.exit_code == 2
    assert "The jar does not say which class to run" in words(result)
    assert "TupleArity" in words(result)


def test_where_flink_is_is_no_question_for_programs_in_python(run: Run) -> None:
    Path("job.py").write_text("")
    result = run("check", "job.py", "job.py", "--flink-version", "2.3.0")
    assert result.exit_code == 2
    assert "--flink-version has no effect here: it is for jars and SQL" in words(result).replace("│ ", "")


def test_from_python(flink, java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    old, new, _, main_class = pair("tuple_arity")
    jars = compat.FlinkJars(classpath=flink.classpath, main_class=main_class)
    (report,) = compat.check(old, new, jars=jars)
    assert isinstance(report, compat.Report)
    assert "CMP404" in {finding.rule for finding in report.findings}
    (job,) = compat.plan(old, jars=jars)
    assert "val" in {operator.uid for operator in job.operators}
    with pytest.raises(IncompatibleError, match="CMP404"):
        assert_compatible(old, new, jars=jars)


def test_the_settings_of_an_installation_hold_as_for_flink_run(flink, run: Run, tmp_path: Path) -> None:
    home = tmp_path / "flink"
    (home / "lib").mkdir(parents=True)
    for jar in flink.jars:
        (home / "lib" / Path(jar).name).symlink_to(jar)
    (home / "conf").mkdir()
    (home / "conf" / "config.yaml").write_text("parallelism.default: 3\nstate:\n  backend:\n    type: rocksdb\n")
    old, _, *rest = pair("uid_same")
    made = run("plan", old, *rest, "--flink-home", str(home), "--format", "json", classpath=False)
    settings = json.loads(made.output)["settings"]
    assert settings["state.backend.type"] == "rocksdb"
    given = ("-D", "state.backend.type=hashmap", "--format", "json")
    made = run("plan", old, *rest, "--flink-home", str(home), *given, classpath=False)
    assert json.loads(made.output)["settings"]["state.backend.type"] == "hashmap"
