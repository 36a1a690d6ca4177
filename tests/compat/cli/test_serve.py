"""`compat serve` and `compat registry token`: what the operator may say, and what is refused."""

from __future__ import annotations

import socket

import pytest
from click.testing import CliRunner

from compat.cli import main


def run(*arguments, **environment):
    return CliRunner().invoke(main, list(arguments), env=environment)


def test_tokens_are_made_listed_and_revoked(tmp_path):
    database = f"sqlite:///{tmp_path}/compat.db"
    token = run("token", "create", "ci", "--role", "push", COMPAT_DATABASE=database)
    assert token.output.startswith("compat_")
    assert run("token", "create", "ci", COMPAT_DATABASE=database).exit_code == 2
    assert run("token", "list", COMPAT_DATABASE=database).output == "ci\tpush\n"
    assert run("token", "revoke", "ci", COMPAT_DATABASE=database).exit_code == 0
    assert run("token", "list", COMPAT_DATABASE=database).output == ""
    assert run("token", "revoke", "ci", COMPAT_DATABASE=database).exit_code == 2


def test_a_token_is_bound_to_jobs_and_ends(tmp_path):
    database = f"sqlite:///{tmp_path}/compat.db"
    bound = ("--job", "payments-*", "--job", "orders", "--expires", "90d")
    assert run("token", "create", "ci", *bound, COMPAT_DATABASE=database).exit_code == 0
    assert run("token", "create", "bob", "--expires", "2100-12-31", COMPAT_DATABASE=database).exit_code == 0
    bob, ci = run("token", "list", COMPAT_DATABASE=database).output.splitlines()
    assert bob == "bob\tpush\tuntil 2101-01-01T00:00:00.000Z"
    assert ci.startswith("ci\tpush\tjobs payments-*, orders\tuntil 20")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--expires", "2020-01-01"], "is in the past"),
        (["--expires", "90"], "neither a length of time such as 90d nor a day"),
        (["--expires", "soon"], "neither a length of time such as 90d nor a day"),
        (["--expires", "99999999999d"], "neither a length of time such as 90d nor a day"),
        (["--job", "payments/*"], "is no pattern of jobs"),
        (["--job", ""], "is no pattern of jobs"),
        (["--role", "deploy", "--job", "payments-*"], "cannot be bound to jobs"),
    ],
)
def test_a_token_that_cannot_be_is_told(tmp_path, arguments, says):
    result = run("token", "create", "ci", *arguments, COMPAT_DATABASE=f"sqlite:///{tmp_path}/compat.db")
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "--allowed-host"),
        (["--folder", "/nowhere/at/all"], "is no folder"),
        (["--database", "mysql://x/y"], "mysql is not supported"),
        (["--database", "sqlite:////nowhere/at/all.db"], "cannot be written"),
        (["--port", "70000"], "70000"),
    ],
)
def test_what_cannot_be_served_is_told(arguments, says):
    given = arguments if "--port" in arguments else [*arguments, "--port", "0"]
    result = run("serve", *given)
    assert result.exit_code == 2
    assert says in result.output


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "--port" in result.output


@pytest.mark.parametrize("command", ["serve", "token", "push", "promote"])
def test_help_has_an_example(command):
    assert "Example: compat " in " ".join(run(command, "--help").output.split())
