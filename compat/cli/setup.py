"""``compat setup``: installs what other commands need."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from compat.compiler.versions import LATEST_FLINK

UNDECIDED = 2


@click.group("setup")
def setup() -> None:
    """Install things that other commands need, once for this user.

    Example: compat setup pyflink 1.20
    """


@setup.command("pyflink")
@click.argument("version", default=LATEST_FLINK)
@click.option("--python", metavar="PYTHON", help="The Python to make it with (default: the newest that fits).")
def pyflink(version: str, python: str | None) -> None:
    """Create an environment with PyFlink VERSION (default: the latest known), for programs that only PyFlink builds.

    From then on, commands use it without --pyflink for programs of this version of Flink. It takes some minutes, and
    700 MB in this user's cache.

    Example: compat setup pyflink 1.20
    """
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.pyflink.environments import make

    try:
        made, now = make(version, python, lambda told: click.echo(told, err=True))
    except JvmError as error:
        click.echo(str(error), err=True)
        if error.hint:
            click.echo(error.hint, err=True)
        sys.exit(UNDECIDED)
    click.echo(f"PyFlink {made.version} is {'' if now else 'already '}in {made.folder}; commands find it there.")


@setup.command("man")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("~/.local/share/man/man1"))
def man(folder: Path) -> None:
    """Write the man pages, one per command, into FOLDER (default: ~/.local/share/man/man1).

    Example: compat setup man && man compat-check
    """
    from compat.cli import main
    from compat.cli.manual import pages

    folder = folder.expanduser()
    made = pages(main, "compat")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        click.echo(f"The pages cannot be written to {folder}: {error.strerror}. Name another folder.", err=True)
        sys.exit(UNDECIDED)
    click.echo(f"{len(made)} pages are in {folder}. Read one: man compat-check")
