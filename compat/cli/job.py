"""``compat job``: the commands for jobs that run on Spark."""

from __future__ import annotations

import click

from compat.cli.groups import JOB
from compat.cli.lazy import Lazy


@click.group("job", cls=Lazy, members=JOB)
def job() -> None:
    """Run jobs on Spark, see which run, and end them.

    Example: compat job run job.py
    """
