"""The rule catalogue as data: what each rule means, why, an example and what to do. Ids are permanent."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from compat.check.rules.texts import identity, running, scaling, settings, snapshots, states, topology
from compat.check.rules.texts.model import RuleInfo

__all__ = ["FAMILIES", "RULES", "RuleInfo", "find", "similar"]

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "1": "Identity of operators",
        "2": "Shape of the job",
        "3": "Parallelism and key groups",
        "4": "States and their types",
        "5": "Savepoints and checkpoints",
        "6": "Settings",
        "9": "The check itself",
    }
)
"""What the first digit of an id stands for."""

_FAMILIES = (identity, topology, scaling, states, snapshots, settings, running)

RULES: Mapping[str, RuleInfo] = MappingProxyType({rule.id: rule for family in _FAMILIES for rule in family.RULES})
"""Every rule by id, in the order of ids."""


def find(text: str) -> RuleInfo | None:
    """The rule with this id or name, in any case, or None."""
    wanted = text.strip()
    by_id = RULES.get(wanted.upper())
    if by_id is not None:
        return by_id
    return next((rule for rule in RULES.values() if rule.name == wanted.lower()), None)


def similar(text: str) -> list[str]:
    """Ids and names that ``text`` may have been meant for, the nearest first."""
    wanted = text.strip()
    ids = get_close_matches(wanted.upper().replace("O", "0"), RULES, n=3, cutoff=0.6)
    names = [rule.name for rule in RULES.values()]
    return [*ids, *get_close_matches(wanted.lower(), names, n=3, cutoff=0.5)][:4]
