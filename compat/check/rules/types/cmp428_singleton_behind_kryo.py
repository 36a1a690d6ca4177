"""States whose values hold objects of which there is one only, of which Kryo makes others when it reads them."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.class_changes import short
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import kept_states
from compat.state.model.code import WrittenClass


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        for old, new in kept_states(pair):
            changed = [one for one in new.classes if one.misread is not None]
            for level in (Level.ERROR, Level.WARNING):
                told = [short(one.name) for one in changed if _level(one) is level]
                if not told:
                    continue
                names = ", ".join(told[:_TOLD]) + (" and others" if len(told) > _TOLD else "")
                are = "is a singleton" if len(told) == 1 else "are singletons"
                yield check.finding(
                    RULE,
                    f"the state {new.name!r} of {pair.new.label} holds singleton objects that Kryo reads as other objects",
                    level=level,
                    consequence=_CONSEQUENCE[level],
                    reason=f"{names} {are}, and the serializer of this state creates another object "
                    "when it reads one, as a trial showed.",
                    old=pair.old,
                    new=pair.new,
                    state=old.name,
                    fixes=(
                        Fix(
                            text="Register a serializer with Kryo that gives the one object back "
                            "(pipeline.serialization-config), or keep values that are POJOs, in a state of another name."
                        ),
                    ),
                    silent=level is Level.WARNING,
                )


def _level(one: WrittenClass) -> Level:
    """An error where values hold such an object for sure, and it cannot be used."""
    return Level.ERROR if one.misread == "broken" and one.made else Level.WARNING


_TOLD = 3
_CONSEQUENCE = {
    Level.ERROR: "The program fails when it uses a value that was restored, or reads a wrong one.",
    Level.WARNING: "Flink restores this without an error; comparisons with these objects, as in a match, no longer hold.",
}

RULE = Rule(
    id="CMP428",
    name="singleton-behind-kryo",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if only comparisons distinguish the objects that are read from the right ones, or if perhaps no value "
    "has such an object",
    fate=Fate.LOST,
    summary="Values that Kryo writes hold singletons: objects of Scala or Kotlin, or constants of Scala's enums.",
    why="A case object, None, the end of a List and the values of an Enumeration are compared by identity. Kryo writes their "
    "class and makes another object when it reads, at each restore with state on the heap and at each access with RocksDB.",
    old="case class Account(items: List[Item])  // written by Kryo",
    new="case class Account(items: List[Item])  // written by Kryo",
    fix="Keep such values in a form that Flink has a serializer for, or register one with Kryo.",
    find=_find,
)
