"""``compat setup``: what other commands need and this machine has not yet."""

from __future__ import annotations

import sys

import click

from compat.compiler.versions import LATEST_FLINK

UNDECIDED = 2


@click.group("setup")
def setup() -> None:
    """Make what other commands need, once for this user.

    Example: compat setup pyflink 1.20
    """


@setup.command("pyflink")
@click.argument("version", default=LATEST_FLINK)
@click.option("--python", metavar="PYTHON", help="The Python to make it with (default: the newest that fits).")
def pyflink(version: str, python: str | None) -> None:
    """Make an environment with PyFlink VERSION (default: the latest known), for programs that only PyFlink builds.

    Commands find it from then on, without --pyflink, for programs that are judged as this version of Flink. It takes some
    minutes and 700 MB, in this user's cache.

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
