"""``compat diagnose``: five lines a failure, names for its ids, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

import pytest
from click.testing import CliRunner

from compat.cli import main

SAVEPOINTS = Path(__file__).parents[2] / "golden" / "savepoints"
SMALL = SAVEPOINTS / "small_uid_p2_canonical"
COUNT = "b71731f1c0df9c3076c4a455334d0ad6"
GONE = (
    "IllegalStateException: Failed to rollback to checkpoint/savepoint file:/save points/s-1. Cannot map "
    f"checkpoint/savepoint state for operator {COUNT} to the new program, because the operator is not available in the new "
    "program."
)
LIST = (
    f"FlinkException: Could not restore keyed state backend for KeyedProcessOperator_{COUNT}_(1/2) from "
    "any of the 1 provided restore options.\nCaused by: StateMigrationException: The new state serializer "
    "(A@1) must not be incompatible with the old state serializer (org.apache.flink.api.common.typeutils.base.ListSerializer@2)"
)


def run(*arguments, log=GONE):
    result = CliRunner().invoke(main, ["diagnose", *map(str, arguments)], input=log)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def lines(*arguments, log=GONE):
    return dict(line.split(maxsplit=1) for line in run(*arguments, log=log).stdout.splitlines())


def test_five_lines_say_what_where_which_rule_what_now_and_how_before():
    result = run()
    assert result.exit_code == 1
    said = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert list(said) == ["what", "where", "rule", "now", "before"]
    assert said["what"].startswith("The new program has no operator with the id of state in the savepoint.")
    assert COUNT in said["where"]
    assert said["rule"].startswith("CMP101 state-without-operator or CMP102 operator-moved")
    assert said["now"].startswith("compat check 'file:/save points/s-1' NEW  # ")
    assert "CMP101" in said["before"]


def test_the_new_program_stands_in_the_commands():
    assert lines("--new", "new job.py")["now"].startswith("compat check 'file:/save points/s-1' 'new job.py'  # ")


def test_an_empty_log_is_no_all_clear():
    result = run(log="")
    assert (result.exit_code, result.stderr) == (
        2,
        "standard input: the log is empty. Check the command that writes it.\n",
    )


def test_the_commands_name_the_savepoint_where_it_is_here():
    assert lines("--savepoint", SMALL, "--new", "new.py")["now"].startswith(
        f"compat check {quote(str(SMALL))} new.py  #"
    )


def test_a_savepoint_names_the_operator_and_the_state():
    assert (
        lines("--savepoint", SMALL)["where"] == f"operator 'Count' (uid count), id {COUNT}; state 'python-state-count'"
    )
    assert "; state 'python-state-count'" in lines("--savepoint", SMALL, log=LIST)["where"]


def test_a_table_of_uids_names_the_operator_and_stands_in_the_commands(tmp_path):
    table = tmp_path / "my {uids}.csv"
    table.write_text("count,How many\n")
    commands = lines("--names", table, "--new", "new.py")
    for row in ("now", "before"):
        assert commands[row].startswith(f"compat check 'file:/save points/s-1' new.py --names {quote(str(table))}  #")
    assert lines("--names", table)["where"] == f"operator 'How many' (uid count), id {COUNT}"


def test_a_program_names_the_operator(tmp_path):
    job = Path(__file__).parents[3] / "compat" / "examples" / "word_count" / "v1.py"
    log = GONE.replace(COUNT, "90bea66de1c231edf33913ecd54406c1")
    assert lines("--names", job, log=log)["where"].startswith("operator 'count words', id 90bea66d")


def test_a_file_is_read_and_data_printed(tmp_path):
    (tmp_path / "jm.log").write_text(f"INFO - fine\n{GONE}\n{GONE}\n")
    result = run(tmp_path / "jm.log", "--format", "json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    (failure,) = told["failures"]
    assert (failure["name"], failure["operator"], failure["count"]) == ("operator-not-available", COUNT, 2)
    assert told["lines"] == 3


def test_where_nothing_failed_it_says_so_and_what_else_there_is():
    result = run(log="java.lang.NullPointerException: no \x1b[31m\n\tat shop.A.b(A.java:1)\n")
    assert result.exit_code == 0
    assert (
        "no restore failed in 2 lines. 1 other exception is in it, the last: java.lang.NullPointerException: no"
        in result.stdout
    )
    assert "\x1b" not in result.stdout


def test_what_cannot_be_read_ends_with_2(tmp_path):
    assert run(tmp_path / "no.log").exit_code == 2
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08\x00 no gzip")
    assert run(tmp_path / "broken.gz").exit_code == 2
    assert run(tmp_path).exit_code == 2


@pytest.mark.parametrize("escape", ["\x1b[2J", "\u202e", "\x07"])
def test_a_log_cannot_write_to_the_terminal(escape):
    result = run("-v", log=GONE.replace("s-1", f"s-{escape}1"))
    assert result.exit_code == 1
    assert escape not in result.stdout


def test_a_registry_needs_the_name_of_the_job():
    assert run("--server", "https://compat.example.org").exit_code == 2
