"""``compat completion``: what a shell needs to complete commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_COMPAT_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which a shell completes compat's commands and options.

    \b
    bash: compat completion bash >> ~/.bashrc
    zsh:  compat completion zsh >> ~/.zshrc
    fish: compat completion fish > ~/.config/fish/completions/compat.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "compat", _VARIABLE).source())
