"""`compat serve` and `compat token`: what the operator may say, and what is refused."""

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
