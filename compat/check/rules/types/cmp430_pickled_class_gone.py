"""Pickled states whose objects are of classes of the program that NEW does not have, or has in another form."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pickles import READ, fails, put_into
from compat.check.rule import Rule
from compat.check.states import changes
from compat.state.model.states import State

_FAILS = "the task fails at the first record of an old key."
_EXCHANGED = "old objects are read as others."


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if old.type is None or old.type != new.type or "Pickled" not in old.type:
                continue
            yield from _broken(check, change.pair, old)
            gone, certain = _gone(change.pair, old.name)
            if not gone:
                continue
            yield check.finding(
                RULE,
                f"the pickled state {old.name!r} of {change.pair.new.label} "
                f"{'holds' if certain else 'may hold'} objects of {' and '.join(gone)}, which NEW does not have",
                level=None if certain else Level.UNKNOWN,
                consequence=f"Flink restores this without an error; {_FAILS}"
                if certain
                else f"If such an object is in it, {_FAILS}",
                reason="A pickle has only the names of classes, and looks them up when it is loaded.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(
                        text=f"Keep the old name in its module, too: {gone[0]} = NEW_NAME.",
                        code=f"{gone[0]} = NEW_NAME",
                    ),
                    *code_suggestions.convert(check, new, change.dialect),
                ),
                silent=True,
            )


def _broken(check: Check, pair: Pair, state: State) -> Iterator[Finding]:
    """Objects that OLD's code puts into the state, and that the class of NEW fails on."""
    for name in put_into(pair, state.name):
        failure = fails(pair, name)
        if failure is not None and failure != READ:
            short = name.partition(":")[2]
            yield check.finding(
                RULE,
                f"the pickled state {state.name!r} of {pair.new.label} holds objects of {short}, which {failure.why}",
                consequence=f"Flink restores this without an error; {_EXCHANGED if failure.exchanged else _FAILS}",
                reason="A pickle has the values of an object; its class makes the object from them when it is loaded.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text=f"Keep the order of {short}, and the values of its constants."
                        if failure.exchanged
                        else f"Keep the fields of {short}, and give new ones a default value.",
                        code=failure.code,
                    ),
                ),
                silent=True,
            )


def _gone(pair: Pair, state: str) -> tuple[list[str], bool]:
    """The program's classes that old pickles name, or may name, and NEW does not have; and whether they are known to."""
    known = pair.new.detail.get("classes_known")
    if known is None:
        return [], False
    modules = {"__main__", *(name.partition(":")[0] for name in known)}
    pickled = pair.old.detail.get("classes_pickled", {}).get(state)
    put = put_into(pair, state)
    made = pair.old.detail.get("classes_made", [])
    named = made if pickled is None else pickled
    # A module of OLD's that NEW does not load may be there: whether its class is, cannot be told.
    gone = [name for name in named if (name.partition(":")[0] in modules or name in made) and name not in known]
    certain = [name for name in gone if name.partition(":")[0] in modules and (pickled is not None or name in put)]
    return [name.partition(":")[2] for name in certain or gone], bool(certain)


RULE = Rule(
    id="CMP430",
    name="pickled-class-gone",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN,),
    when="error if pickles in a savepoint name such a class, or OLD's code puts its objects into the state; unknown if "
    "the code only mentions it",
    fate=Fate.REFUSED,
    summary="A class of the program, whose objects are in a pickled state, is gone, renamed, or fails on the old ones.",
    why="Types.PICKLED_BYTE_ARRAY writes objects as pickles, which have the module and the name of their class, but not "
    "the class. If NEW has no class of that name, the old values cannot be loaded. Flink sees only bytes, and "
    "restores them.",
    old='class Account: …\nself.account.update(Account(value))   # ValueStateDescriptor("account", Types.PICKLED_BYTE_ARRAY())',
    new="class Customer: …\nself.account.update(Customer(value))",
    fix="Keep the old name in its module, as another name of the new class.",
    find=_find,
)
