"""Commands that need a program say so when they are given a savepoint."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from compat.cli import main
from tests.compat.savepoint.conftest import SAVEPOINTS

SMALL = str(SAVEPOINTS / "small_uid_p2_canonical")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", SMALL], "There is no program (*.py) in"),
        (["plan", f"{SMALL}/_metadata"], "which has no graphs"),
        (["explain", SMALL, "new.py", "count"], "There is no file 'new.py'"),
        (["check", SMALL, "new.py", "--names", SMALL], "There is no file 'new.py'"),
        (
            ["check", "--savepoints", str(SAVEPOINTS), "new.py", "--rollback"],
            "--rollback has no effect with --savepoints",
        ),
    ],
)
def test_a_savepoint_is_no_program(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_rollback_to_a_savepoint_is_no_rollback(tmp_path):
    (tmp_path / "new.py").write_text("1 / 0\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["check", SMALL, str(tmp_path / "new.py"), "--rollback"])
    assert result.exit_code == 2


def test_names_are_not_taken_from_a_savepoint(tmp_path):
    (tmp_path / "new.py").write_text(
        "from pyflink.datastream import StreamExecutionEnvironment as E\n"
        "env = E.get_execution_environment()\n"
        "env.from_collection([1]).print()\n"
        "env.execute()\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(main, ["check", SMALL, str(tmp_path / "new.py"), "--names", SMALL])
    assert result.exit_code == 2
    assert "A savepoint tells no names to another one" in result.output
