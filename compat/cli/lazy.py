"""Groups of commands, each in a module of its own, which is imported when the command is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click


def imported(module: str, name: str) -> click.Command:
    """A command, from the module that has it."""
    command: click.Command = getattr(import_module(module), name)
    return command


def members_of(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """The listed commands of a group, by name; none for a command that is not a group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield name, found


class Lazy(click.Group):
    """A group that imports a command's module when it is needed: ``members`` maps commands to their modules and names."""

    def __init__(self, *arguments: Any, members: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self._members = members

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of ``members``, then the group's own."""
        return [*self._members, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name; its module is imported here."""
        member = self._members.get(cmd_name)
        return super().get_command(ctx, cmd_name) if member is None else imported(*member)
