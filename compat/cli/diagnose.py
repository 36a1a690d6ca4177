"""``compat diagnose``: why Flink did not restore a job, from its exception or its log."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from compat.cli.options import load_options, loading, paths

if TYPE_CHECKING:
    from compat.diagnosis.known import Operators
    from compat.savepoint.names import Names

FOUND, UNREADABLE = 1, 2


@click.command("diagnose")
@click.argument("log", default="-", shell_complete=paths)
@click.option(
    "--savepoint",
    metavar="PATH",
    help="The savepoint or checkpoint that was restored, for the names of operators and states.",
)
@click.option(
    "--names", metavar="OLD", help="The program that wrote the state, or a table of uids, for the names of operators."
)
@click.option(
    "--server",
    metavar="URL",
    envvar="COMPAT_SERVER",
    help="A registry that knows the job, for the names of operators; needs --job.",
)
@click.option("--job", metavar="NAME", help="With --server: the job's name in the registry.")
@click.option("--token-file", metavar="FILE", help="With --server: a file with the token.")
@click.option("--new", metavar="NEW", help="The new program, for the commands that are printed.")
@click.option("--job-number", metavar="N", type=int, help="Which job of a program that submits several, from 0.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Five lines, or data.")
@click.option("-v", "--verbose", is_flag=True, help="Add Flink's own messages.")
@loading
def diagnose(log: str, form: str, new: str | None, verbose: bool, **options: Any) -> None:
    """Find out why Flink did not restore a job, from LOG (an exception or a whole log of Flink) or standard input.

    Other lines of the log are skipped. Lines may be JSON, or begin with the time or the pod's name.

    Exit codes: 0 no restore failed, 1 a restore failed, 2 the log could not be read.

    Example: kubectl logs deploy/orders | compat diagnose
    """
    from compat.diagnosis.diagnosing import diagnose
    from compat.diagnosis.lines import lines_of
    from compat.report import diagnosis

    if log == "-" and sys.stdin.isatty():
        raise click.UsageError("Name a log, or pipe one in: kubectl logs deploy/orders | compat diagnose")
    operators = _operators(options)
    shown = "standard input" if log == "-" else log
    try:
        with nullcontext(sys.stdin.buffer) if log == "-" else open(log, "rb") as file:
            found = diagnose(lines_of(file))
    except (OSError, EOFError) as error:
        click.echo(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}.", err=True)
        sys.exit(UNREADABLE)
    if not found.lines:
        click.echo(f"{shown}: the log is empty. Check the command that writes it.", err=True)
        sys.exit(UNREADABLE)
    if (savepoint := options["savepoint"]) is not None:  # the log has the path that it has on the cluster
        found = replace(found, failures=tuple(replace(one, savepoint=savepoint) for one in found.failures))
    if form == "json":
        click.echo(json.dumps(diagnosis.as_json(found, operators, shown, new=new), indent=2, ensure_ascii=False))
    else:
        click.echo(diagnosis.text(found, operators, shown, new=new, verbose=verbose), nl=False)
    sys.exit(FOUND if found.failures else 0)


def _operators(options: dict[str, Any]) -> Operators:
    """The names of the job's operators, from the options; ends the command if they cannot be read."""
    from compat.cli.inspect import read
    from compat.diagnosis.known import Operators
    from compat.loader.inputs import InputError

    asked = click.get_current_context().get_parameter_source("server") is ParameterSource.COMMANDLINE
    if (asked and options["job"] is None) or (options["job"] is not None and options["server"] is None):
        raise click.UsageError("--server URL and --job NAME go together.")
    described = {} if options["savepoint"] is None else read(options["savepoint"])
    try:
        return Operators(_names(options), described, options["names"])
    except InputError as error:
        click.echo(error.told, err=True)
        sys.exit(UNREADABLE)


def _names(options: dict[str, Any]) -> Names:
    """The names in the program, the table or the registry that the options name. Raises InputError."""
    from compat.savepoint.load import read_names

    load = load_options(options)
    if options["job"] is None:
        return read_names(options["names"], load, options["job_number"], side=None)
    from compat.cli.gate import mode_of, restored
    from compat.cli.remote import ServerError, server_of

    server = server_of(options["server"], options["token_file"])
    try:
        with restored(server, options["job"], mode_of(server, options["job"])) as running:
            return read_names(running[0].input.path, load, None, side=None)
    except ServerError as error:
        click.echo(str(error), err=True)
        sys.exit(UNREADABLE)
