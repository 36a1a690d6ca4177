"""The catalogue: all rules there are, found by looking at the files in :mod:`compat.check.rules`. Ids are permanent."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from compat.check import rules
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule


def _discovered() -> Iterator[Rule]:
    """The rule of each module of the families' packages."""
    for family in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        for module in pkgutil.iter_modules(import_module(family.name).__path__, f"{family.name}."):
            rule: Rule = import_module(module.name).RULE
            yield rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in sorted(_discovered(), key=lambda rule: rule.id)}
)
"""Every rule by id, in the order of ids, which is also the order in which rules run and findings are reported."""


def find(text: str) -> Rule | None:
    """The rule with this id or name, in any case, or None."""
    wanted = text.strip()
    by_id = RULES.get(wanted.upper())
    if by_id is not None:
        return by_id
    return next((rule for rule in RULES.values() if rule.name == wanted.lower()), None)


def fate_of(finding: Finding) -> Fate:
    """The fate of the state that a finding is about; ``Fate.UNKNOWN`` for an open question."""
    if finding.level is Level.UNKNOWN:
        return Fate.UNKNOWN
    return finding.fate or RULES[finding.rule].fate


def similar(text: str) -> list[str]:
    """Ids and names similar to ``text``, the nearest first."""
    from difflib import get_close_matches

    wanted = text.strip()
    ids = get_close_matches(wanted.upper().replace("O", "0"), RULES, n=3, cutoff=0.6)
    names = [rule.name for rule in RULES.values()]
    return [*ids, *get_close_matches(wanted.lower(), names, n=3, cutoff=0.5)][:4]


def as_dict(rule: Rule) -> dict[str, Any]:
    """The rule as plain values, for JSON; keys always in the same order."""
    return {
        "id": rule.id,
        "name": rule.name,
        "level": rule.level_text,
        "when": rule.when or None,
        "family": rule.family.title,
        "summary": rule.summary,
        "why": rule.why,
        "example": {"old": rule.old, "new": rule.new},
        "fix": rule.fix,
    }
