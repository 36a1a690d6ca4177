"""Spelling and grouping of options: former spellings that still work, and a help in two lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Spelled(click.Option):
    """An option with former spellings, which still work but are not in the help."""

    def __init__(self, declarations: Sequence[str], *, former: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__([*declarations, *former], **attributes)
        self.former = frozenset(former)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line of the help, without former spellings."""
        every = self.opts
        self.opts = [option for option in every if option not in self.former]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = every


job_number = click.option(
    "--job-number",
    "job",
    cls=Spelled,
    former=["--job"],
    metavar="N",
    type=int,
    help="Which job of a program that submits several, from 0.",
)
"""The option of commands that take one job of a program."""


def left_behind(name: str, default: bool | None = False) -> Callable[[F], F]:
    """The option ``-n``, also in Flink's spelling."""
    return click.option(
        "-n",
        "--allow-non-restored-state",
        name,
        cls=Spelled,
        former=["--allowNonRestoredState"],
        is_flag=True,
        default=default,
        help="Skip savepoint state that cannot be restored.",
    )


class Grouped(click.Command):
    """A command with many options: its help groups them, and leaves out those that few users need.

    ``groups`` are titles with the names of parameters; ``--help-all`` also shows the parameters that are in no group.
    """

    def __init__(self, *arguments: Any, groups: Mapping[str, Iterable[str]], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self._groups = {title: tuple(names) for title, names in groups.items()}
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._show_all,
                help="Show all options and exit.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the groups; with ``--help-all``, all of them."""
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None and "--help" not in parameter.opts
        }
        grouped = {name for names in self._groups.values() for name in names} | {"help_all"}
        for title, names in self._groups.items():
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])
        if ctx.meta.get(_ALL):
            with formatter.section("More"):
                formatter.write_dl([record for name, record in records.items() if name not in grouped])
        with formatter.section("Help"):
            formatter.write_dl([records["help_all"], ("-h, --help", "Show this message and exit.")])

    def _show_all(self, context: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            context.meta[_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()


_ALL = "compat.help-all"
