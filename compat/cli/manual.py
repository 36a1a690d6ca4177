"""The commands as pages for ``man``, one page each, in the macros of ``man(7)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import methodcaller
from textwrap import dedent

import click

from compat import __version__
from compat.cli.lazy import members_of


def pages(root: click.Command, name: str) -> dict[str, str]:
    """The pages of a command and of all commands below it, by file name."""
    return {f"{path.replace(' ', '-')}.1": _page(path, context) for path, context in _contexts(root, name, None)}


def _contexts(command: click.Command, name: str, above: click.Context | None) -> Iterator[tuple[str, click.Context]]:
    context = click.Context(command, info_name=name, parent=above)
    yield context.command_path, context
    for each, below in members_of(command, context):
        yield from _contexts(below, each, context)


def _page(path: str, context: click.Context) -> str:
    command = context.command
    usage = " ".join(piece.strip() for piece in command.collect_usage_pieces(context))
    parts = [
        f'.TH "{path.replace(" ", "-").upper()}" 1 "" "compat {__version__}" "compat"',
        f".SH NAME\n{_text(path.replace(' ', '-'))} \\- {_text(command.get_short_help_str(200).rstrip('.'))}",
        f".SH SYNOPSIS\n.B {_text(path)}\n{_text(usage)}",
        f".SH DESCRIPTION\n{_description(command.help or '')}",
        _list(
            "OPTIONS",
            [each for each in map(methodcaller("get_help_record", context), command.params) if each and each[1]],
        ),
        _list("COMMANDS", [(name, below.get_short_help_str(200)) for name, below in members_of(command, context)]),
        _description(command.epilog).replace("Examples:", ".SH EXAMPLES", 1) if command.epilog else "",
        _also(context),
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _list(title: str, rows: list[tuple[str, str]]) -> str:
    entries = "\n".join(f".TP\n\\fB{_text(name)}\\fP\n{_text(said)}" for name, said in rows)
    return f".SH {title}\n{entries}" if rows else ""


def _description(text: str) -> str:
    """Paragraphs; those that click is told not to wrap keep their lines."""
    paragraphs = re.split(r"\n\s*\n", dedent(text).strip())
    return "\n.PP\n".join(
        f".nf\n{_text(dedent(each.removeprefix(chr(8)).lstrip(chr(10))))}\n.fi"
        if each.startswith("\b")
        else _text(" ".join(each.split()))
        for each in paragraphs
    )


def _also(context: click.Context) -> str:
    above = context.parent
    return "" if above is None else f".SH SEE ALSO\n.BR {_text(above.command_path.replace(' ', '-'))} (1)"


def _text(text: str) -> str:
    """Text without requests: escapes backslashes, typed hyphens, and a dot or quote at the beginning of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)
