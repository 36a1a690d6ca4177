"""What shells complete."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from compat.cli import main


def completed(*typed: str) -> list[tuple[str, str]]:
    *before, incomplete = typed
    found = BashComplete(main, {}, "compat", "_COMPAT_COMPLETE").get_completions(list(before), incomplete)
    return [(item.type, item.value) for item in found]


def test_commands_options_formats_and_files() -> None:
    assert completed("ex") == [("plain", "explain")]
    assert ("plain", "--explain") in completed("check", "--ex")
    assert completed("check", "--output", "sa") == [("plain", "sarif")]
    assert completed("check", "--format", "ju") == [("plain", "junit")]
    assert completed("check", "old.py", "ne") == [("file", "ne")]
    assert completed("check", "--color", "n") == [("plain", "never")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert "_COMPAT_COMPLETE" in result.stdout
