"""Keyed operators whose key has another type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions, restores
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, KeyHeir, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.check.state_storage import dialect_of, key_change
from compat.check.states import key_type_of
from compat.state.model.operators import Operator

_OTHERWISE = "give the operator a uid of its own, and restore with -n if the old state may go."
_OWN_UID = f"Keep the type of the key as it was; or {_OTHERWISE}"


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if check.answer(pair) is not None:
            continue
        before, after = key_type_of(pair.old), key_type_of(pair.new)
        if before is not None and after is not None and not key_change(before, after).readable:
            yield check.finding(
                RULE,
                f"the key of {pair.new.label} had the type {before} and has {after}",
                consequence="The task fails when it starts: the new key serializer must be compatible with the previous one.",
                reason="Keys are never migrated: the key decides in which key group a state lies.",
                old=pair.old,
                new=pair.new,
                fixes=(_fix(pair.new, before, check), *_migrate(check, pair)),
                heirs=(KeyHeir(),),
            )
    for pair, change, problem in restores.unreadable(check):
        if not change.name and not change.other_kryo:
            yield check.finding(
                RULE,
                f"the key of {pair.new.label} has another type",
                consequence=restores.consequence(check, problem),
                reason=f"{' '.join(change.reasons)} Keys are never migrated: the key decides in which key group a state lies.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text=_OWN_UID, code=uid_call(pair.new, check)), *_migrate(check, pair)),
                heirs=(KeyHeir(),),
            )


def _migrate(check: Check, pair: Pair) -> tuple[Fix, ...]:
    keyed = (state for state in pair.new.states or () if state.key_type is not None or state.serializers is not None)
    return next((code_suggestions.convert(check, state, dialect_of(check, pair)) for state in keyed), ())


def _fix(new: Operator, before: str, check: Check) -> Fix:
    call = code_suggestions.key_by(before)
    if call is not None:
        return Fix(text=f"Keep the key type {before} in key_by.", code=call)
    return Fix(
        text=f"Keep the key type {before} in key_by; or {_OTHERWISE}",
        code=uid_call(new, check),
    )


RULE = Rule(
    id="CMP406",
    name="key-type",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The type of an operator's key changed.",
    why="The bytes of the key are the address of its state, including the key group. Flink never converts keys: it "
    "refuses them when the task starts.",
    old="stream.key_by(lambda r: r[0], Types.LONG())",
    new="stream.key_by(lambda r: r[0], Types.STRING())",
    fix="Keep the key's type. A job that needs another one starts without old state, under another uid.",
    find=_find,
)
