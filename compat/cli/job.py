"""``compat job``: the commands for jobs that run on Spark."""

from __future__ import annotations

import click

from compat.cli.lazy import Lazy

_MEMBERS = {
    "run": ("compat.cli.run", "run"),
    "list": ("compat.cli.jobs", "list_jobs"),
    "savepoint": ("compat.cli.jobs", "savepoint"),
    "stop": ("compat.cli.jobs", "stop"),
    "cancel": ("compat.cli.jobs", "cancel"),
    "discard": ("compat.cli.jobs", "discard"),
}


@click.group("job", cls=Lazy, members=_MEMBERS)
def job() -> None:
    """Run jobs on Spark, see which run, and end them.

    Example: compat job run job.py
    """
