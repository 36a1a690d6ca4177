"""``compat job savepoint convert``: converts a savepoint of Flink for jobs on Spark."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from compat.cli.options import arguments_for, flink_option, found_around, parse_definitions, place, surroundings_of
from compat.cli.spelled import job_number, left_behind

_REFUSED = 2


@click.command("convert")
@click.argument("savepoint", metavar="FLINK_SAVEPOINT", type=click.Path())
@click.argument("out", type=click.Path(), callback=place)
@click.option(
    "--program",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="PROGRAM",
    help="The program that continues from it: it declares the types of PyFlink's states, which the savepoint does not record.",
)
@left_behind("allow_non_restored")
@job_number
@click.option("-D", "definitions", multiple=True, metavar="KEY=VALUE", help="An option of Flink.")
@flink_option
@click.option("--args", "arguments", help="Arguments of the program.")
@found_around
def convert(savepoint: str, out: str, program: str, **options: Any) -> None:
    """Convert a savepoint that Flink wrote to one for jobs on Spark, in a new folder OUT.

    The program runs up to where its job would start. After the check that precedes every restore, states are read with
    the types that the program declares, and the positions of its sources are taken over. A state that cannot be read is
    named, and nothing is written.
    Values that PyFlink pickled are unpickled with the program's classes: convert only savepoints that you trust.

    Exit codes: 0 written, 2 refused or not readable.

    Example: compat job savepoint convert savepoint-1a2b3c/ converted/ --program job.py
    """
    from compat.compiler.errors import ProgramError
    from compat.execution.failures import Refused
    from compat.execution.narration import last_line
    from compat.execution.program import MISSING

    surroundings = surroundings_of(options, program)
    os.environ.update(surroundings.environment)
    try:
        from compat.compiler.spark.driver.restore import RestoreRefused
        from compat.execution.conversion import Conversion, convert
        from compat.state.delta.errors import StoreError
    except ModuleNotFoundError as error:
        click.echo(MISSING.format(name=error.name), err=True)
        sys.exit(_REFUSED)
    try:
        made = convert(
            Conversion(
                savepoint=savepoint,
                out=out,
                program=program,
                arguments=arguments_for(program, options["arguments"]),
                options=parse_definitions(options["definitions"]),
                flink=options["flink"],
                allow_non_restored=options["allow_non_restored"],
                job=options["job"] or 0,
                pyfiles=surroundings.pyfiles,
            ),
            lambda text: click.echo(text, err=True),
        )
    except Refused as error:
        click.echo("\n".join(filter(None, (error.detail, str(error)))), err=True)
        sys.exit(_REFUSED)
    except (RestoreRefused, StoreError, ProgramError) as error:
        click.echo(str(error), err=True)
        sys.exit(_REFUSED)
    except Exception as error:
        click.echo(f"{program}: {last_line(f'{type(error).__name__}: {error}')}", err=True)
        sys.exit(_REFUSED)
    click.echo(f"{made.keys:,} keys, {made.entries:,} entries", err=True)
    click.echo(out)
