"""The command line. Each command is in a module of its own, which is imported when the command is called."""

from __future__ import annotations

from typing import Any

import click

from compat import __version__
from compat.cli.faults import told
from compat.cli.groups import FORMER
from compat.cli.lazy import Lazy, imported

_COMMANDS = {
    "check": ("compat.cli.check", "check"),
    "plan": ("compat.cli.plan", "plan"),
    "explain": ("compat.cli.explain", "explain"),
    "rules": ("compat.cli.rules", "rules"),
    "rule": ("compat.cli.rules", "rule"),
    "schema": ("compat.cli.schema", "schema"),
    "diagnose": ("compat.cli.diagnose", "diagnose"),
    "inspect": ("compat.cli.inspect", "inspect"),
    "remap": ("compat.cli.remap", "remap"),
    "migrate": ("compat.cli.migrate", "migrate"),
    "state": ("compat.cli.state", "state"),
    "fsck": ("compat.cli.fsck", "fsck"),
    "job": ("compat.cli.job", "job"),
    "cluster": ("compat.cli.cluster", "cluster"),
    "deploy": ("compat.cli.deploy", "deploy"),
    "registry": ("compat.cli.registry", "registry"),
    "serve": ("compat.cli.serve", "serve"),
    "webhook": ("compat.cli.webhook", "webhook"),
    "demo": ("compat.cli.demo", "demo"),
    "setup": ("compat.cli.setup", "setup"),
    "completion": ("compat.cli.completion", "completion"),
}


class _Commands(Lazy):
    """The commands of the root, and those that have a group now."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        former = FORMER.get(cmd_name)
        return super().get_command(ctx, cmd_name) if former is None else imported(*former)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = {*_COMMANDS, *FORMER}
        if args and args[0] not in known and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], known, n=1, cutoff=0.7)
            meant = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with told():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    members=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n  compat check job_v1.py job_v2.py\n  compat plan job.py\n"
    "  compat explain job_v1.py job_v2.py count\n  compat rules\n  compat rule CMP101\n  compat schema report\n"
    "  kubectl logs deploy/orders | compat diagnose\n  compat inspect savepoint-1a2b3c/\n"
    "  compat remap savepoint-1a2b3c/ remapped/ --map old-uid=new-uid\n  compat demo\n  compat job run job.py\n"
    "  compat cluster start\n  compat deploy --job word_count job.py\n  compat job list\n"
    "  compat job savepoint 6f2c\n  compat job stop 6f2c\n  compat state 6f2c count\n"
    "  compat registry promote --job word_count\n  compat fsck .compat",
)
@click.version_option(__version__, prog_name="compat")
def main() -> None:
    """Will the new version of a stateful job restore the old version's state?"""
