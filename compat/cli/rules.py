"""``compat rules`` and ``compat rule``: the catalogue of rules, and one of its rules."""

from __future__ import annotations

import json
from itertools import groupby

import click

from compat.check.catalogue import RULES, as_dict, find, similar
from compat.check.rule import Rule

FORMAT = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)


@click.command("rules")
@FORMAT
def rules(output: str) -> None:
    """List every rule: id, level, name, what it finds.

    Example: compat rules --format json
    """
    if output == "json":
        click.echo(json.dumps({"format": 1, "rules": [as_dict(rule) for rule in RULES.values()]}, indent=2))
        return
    width = max(len(rule.name) for rule in RULES.values())
    for family, members in groupby(RULES.values(), key=lambda rule: rule.family):
        click.echo(click.style(family.title, bold=True))
        for rule in members:
            click.echo(f"  {rule.id}  {rule.level_text:<7}  {rule.name:<{width}}  {rule.summary}")
    click.echo("\nOne rule explained: compat rule CMP101")


@click.command("rule")
@click.argument("rule")
@FORMAT
def rule(rule: str, output: str) -> None:
    """Explain one rule, by its id or its name: what it finds, why, an example, what to do.

    Example: compat rule CMP101
    """
    info = find(rule)
    if info is None:
        near = similar(rule)
        hint = f" Did you mean {' or '.join(near)}?" if near else " compat rules lists them."
        raise click.BadParameter(f"there is no rule {rule!r}.{hint}", param_hint="'RULE'")
    click.echo(json.dumps(as_dict(info), indent=2) if output == "json" else explanation(info))


def explanation(rule: Rule) -> str:
    """The explanation of a rule, as text of at most 100 columns."""
    level = rule.level_text + (f" ({rule.when})" if rule.when else "")
    parts = [
        f"{click.style(rule.id, bold=True)} {click.style(rule.name, bold=True)}",
        f"level: {level}",
        "",
        _wrapped(rule.summary),
        "",
        _wrapped(rule.why),
        "",
        "Old:",
        *(f"    {line}" for line in rule.old.splitlines()),
        "New:",
        *(f"    {line}" for line in rule.new.splitlines()),
        "",
        _wrapped(f"What to do: {rule.fix}"),
    ]
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return click.wrap_text(text, width=100)
