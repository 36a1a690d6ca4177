"""Options and commands that were spelled in other ways before, and the two lengths of the help."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from compat.cli import main

SCREEN = 50


def said(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    "words",
    [
        *(("job", name) for name in ("run", "list", "savepoint", "stop", "cancel", "discard")),
        *(
            ("registry", name)
            for name in ("push", "promote", "accept", "accepted", "withdraw", "mode", "delete", "token")
        ),
    ],
)
def test_a_command_of_a_group_goes_without_it_too(words: tuple[str, str]) -> None:
    group, name = words
    told, former = said(group, name, "--help"), said(name, "--help")
    assert told.replace(f"main {group} {name}", f"main {name}") == former
    assert name not in main.list_commands(click.Context(main))


@pytest.mark.parametrize(
    ("words", "now", "former"),
    [
        (("check",), "--rehearse-limit", "--limit"),
        (("check",), "--try-restore", "--dry-run"),
        (("check",), "--allow-non-restored-state", "--allowNonRestoredState"),
        (("job", "run"), "--allow-non-restored-state", "--allowNonRestoredState"),
        (("job", "run"), "--format", "--output"),
        (("deploy",), "--allow-non-restored-state", "--allowNonRestoredState"),
        (("state",), "--compare", "--diff"),
        (("explain",), "--job-number", "--job"),
        (("plan",), "--job-number", "--job"),
        (("remap",), "--job-number", "--job"),
    ],
)
def test_a_former_spelling_works_and_no_help_names_it(words: tuple[str, ...], now: str, former: str) -> None:
    context = click.Context(main)
    command: click.Command | None = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(context, word)
    assert command is not None
    (option,) = [one for one in command.params if now in one.opts]
    assert former in option.opts
    told = said(*words, "--help-all" if words == ("check",) else "--help")
    assert now in told
    assert f"{former} " not in told.replace(now, "")


def test_the_help_of_check_fits_two_screens_and_all_of_it_is_had() -> None:
    short, whole = said("check", "--help"), said("check", "--help-all")
    assert len(short.splitlines()) <= 2 * SCREEN
    for title in ("Inputs:", "Flink:", "Python:", "Reports:", "Gate:"):
        assert title in short.splitlines()
    check = main.get_command(click.Context(main), "check")
    assert check is not None
    for parameter in check.params:
        if isinstance(parameter, click.Option):
            assert next((one for one in parameter.opts if one.startswith("--")), parameter.opts[0]) in whole
    assert "--old-main-class" in whole
    assert "--old-main-class" not in short


def test_the_number_of_a_job_goes_with_both_spellings() -> None:
    for option in ("--job", "--job-number"):
        result = CliRunner().invoke(main, ["check", "a.py", "b.py", option, "x"])
        assert f"Invalid value for '{option}'" in result.output
