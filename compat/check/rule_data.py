"""The catalogue as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from compat.check.rules.catalogue import FAMILIES, RuleInfo


def as_dict(rule: RuleInfo) -> dict[str, Any]:
    """The rule as plain values, keys always in the same order."""
    return {
        "id": rule.id,
        "name": rule.name,
        "level": rule.level_text,
        "when": rule.when or None,
        "family": FAMILIES[rule.id[3]],
        "summary": rule.summary,
        "why": rule.why,
        "example": {"old": rule.old, "new": rule.new},
        "fix": rule.fix,
    }
