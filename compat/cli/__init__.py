"""The command line. Each command is in a module of its own, which is imported when the command is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from compat import __version__
from compat.cli.faults import told

_COMMANDS = {
    "check": ("compat.cli.check", "check"),
    "plan": ("compat.cli.plan", "plan"),
    "explain": ("compat.cli.explain", "explain"),
    "rules": ("compat.cli.rules", "rules"),
    "rule": ("compat.cli.rules", "rule"),
    "schema": ("compat.cli.schema", "schema"),
    "inspect": ("compat.cli.inspect", "inspect"),
    "remap": ("compat.cli.remap", "remap"),
    "serve": ("compat.cli.serve", "serve"),
    "webhook": ("compat.cli.webhook", "webhook"),
    "token": ("compat.cli.tokens", "token"),
    "registry": ("compat.cli.registry", "registry"),
    "push": ("compat.cli.push", "push"),
    "promote": ("compat.cli.promote", "promote"),
    "accepted": ("compat.cli.accepted", "accepted"),
    "withdraw": ("compat.cli.accepted", "withdraw"),
    "mode": ("compat.cli.mode", "mode"),
    "delete": ("compat.cli.delete", "delete"),
    "demo": ("compat.cli.demo", "demo"),
    "run": ("compat.cli.run", "run"),
    "deploy": ("compat.cli.deploy", "deploy"),
    "cluster": ("compat.cli.cluster", "cluster"),
    "list": ("compat.cli.jobs", "list_jobs"),
    "savepoint": ("compat.cli.jobs", "savepoint"),
    "stop": ("compat.cli.jobs", "stop"),
    "cancel": ("compat.cli.jobs", "cancel"),
    "discard": ("compat.cli.jobs", "discard"),
    "state": ("compat.cli.state", "state"),
    "fsck": ("compat.cli.fsck", "fsck"),
    "completion": ("compat.cli.completion", "completion"),
}


class _Commands(click.Group):
    """A group that imports a command's module when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1, cutoff=0.7)
            meant = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with told():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n  compat check job_v1.py job_v2.py\n  compat plan job.py\n"
    "  compat explain job_v1.py job_v2.py count\n  compat rules\n  compat rule CMP101\n  compat schema report\n"
    "  compat inspect savepoint-1a2b3c/\n"
    "  compat remap savepoint-1a2b3c/ remapped/ --map old-uid=new-uid\n  compat demo\n  compat run job.py\n"
    "  compat cluster start\n  compat deploy --job word_count job.py\n  compat list\n"
    "  compat savepoint 6f2c\n  compat stop 6f2c\n  compat cancel 6f2c\n  compat discard 6f2c\n  compat state 6f2c count\n"
    "  compat fsck .compat",
)
@click.version_option(__version__, prog_name="compat")
def main() -> None:
    """Will the new version of a stateful job restore the old version's state?"""
