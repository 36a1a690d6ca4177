"""The group of commands."""

import pytest
from click.testing import CliRunner

from compat.cli import main


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("chek", "No such command 'chek'. Did you mean check?"),
        ("savepiont", "No such command 'savepiont'. Did you mean savepoint?"),
        ("xyzzy", "No such command 'xyzzy'.\n"),
    ],
)
def test_a_command_that_there_is_none_of_names_the_nearest(typed, said):
    result = CliRunner().invoke(main, [typed])
    assert result.exit_code == 2
    assert said in result.output
