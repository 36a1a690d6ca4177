"""The pages for ``man``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import click
from click.testing import CliRunner

from compat.cli import main
from compat.cli.manual import pages


@click.group()
def root() -> None:
    """Do it."""


@root.command(epilog="\b\nExamples:\n  root one -x")
@click.argument("what")
@click.option("-x", "--extra", metavar="DIR", help="'In' C:\\new.")
def one(what: str, extra: str) -> None:
    """Do one thing.

    .Its text begins
    with a dot.
    """


def test_each_command_has_a_page_that_says_what_its_help_says() -> None:
    made = pages(root, "root")
    assert list(made) == ["root.1", "root-one.1"]
    assert ".SH COMMANDS\n.TP\n\\fBone\\fP\nDo one thing." in made["root.1"]
    page = made["root-one.1"]
    assert ".SH NAME\nroot\\-one \\- Do one thing\n" in page
    assert ".B root one\n[OPTIONS] WHAT\n" in page
    assert "\n.PP\n\\&.Its text begins with a dot.\n" in page
    assert ".SH OPTIONS\n.TP\n\\fB\\-x, \\-\\-extra DIR\\fP\n\\&'In' C:\\enew.\n" in page
    assert ".SH EXAMPLES\n  root one \\-x\n" in page
    assert page.endswith(".SH SEE ALSO\n.BR root (1)\n")


def test_the_pages_are_written_and_can_be_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["setup", "man", str(tmp_path / "man1")])
    assert done.exit_code == 0
    assert done.output.endswith("Read one: man compat-check\n")
    assert {"compat.1", "compat-check.1", "compat-job-run.1"} <= {path.name for path in (tmp_path / "man1").iterdir()}
    if shutil.which("groff") is not None:
        page = tmp_path / "man1" / "compat-setup-man.1"
        shown = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True, check=True, timeout=60
        )
        assert (shown.stderr, "compat-setup-man" in shown.stdout) == ("", True)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["setup", "man", str(tmp_path / "file" / "man1")])
    assert (done.exit_code, "Name another folder." in done.output) == (2, True)
