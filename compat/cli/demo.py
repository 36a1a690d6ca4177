"""``compat demo``: the whole story, told by the commands themselves."""

from __future__ import annotations

import sys

import click


@click.command("demo")
@click.argument("folder", type=click.Path(file_okay=False), default="compat-demo")
def demo(folder: str) -> None:
    """Check two versions of a job, run the first to a savepoint, restore the second from it.

    Works in FOLDER, which gets the programs to go on with.

    Example: compat demo
    """
    from compat.execution.demo import tell

    sys.exit(tell(folder))
