"""``compat demo``: shows the main commands on two versions of a job."""

from __future__ import annotations

import sys

import click


@click.command("demo")
@click.argument("folder", type=click.Path(file_okay=False), default="compat-demo")
@click.option("--java", is_flag=True, help="Check a job in Java and one in SQL instead, built by Flink's own classes.")
def demo(folder: str, java: bool) -> None:
    """Check two versions of a job, run the first to a savepoint, restore the second from it.

    Works in FOLDER, where the programs stay for further trials.

    Example: compat demo
    """
    from compat.execution import demo, demo_java

    sys.exit((demo_java if java else demo).tell(folder))
