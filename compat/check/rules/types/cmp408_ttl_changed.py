"""States for which a time to live was switched on or off."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes
from compat.state.flink.ttl import ttl_migrates
from compat.state.model.states import State


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if (old.ttl is None) == (new.ttl is None):
                continue
            migrates = ttl_migrates(check.flink, check.backend)
            switched = "on" if old.ttl is None else "off"
            yield check.finding(
                RULE,
                f"the time to live of state {old.name!r} of {change.pair.new.label} is switched {switched}",
                level=_LEVELS[migrates],
                consequence=_migrated(switched) if migrates else _refused(check, known=migrates is not None),
                reason="With a time to live, each value carries the time of its last use.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    _fix(old, bool(migrates)),
                    *(() if migrates else code_suggestions.convert(check, new, change.dialect)),
                ),
            )


def _migrated(switched: str) -> str:
    text = "Flink migrates the values when it restores them"
    if switched == "on":
        return f"{text}; their time to live begins then."
    return f"{text}; those that have expired and were not removed yet come back, and stay."


def _refused(check: Check, *, known: bool) -> str:
    backend = check.backend
    if known:
        where = f" with {backend}" if backend is not None and check.options.flink.startswith("2.") else ""
        return (
            f"The task fails at the first access{where}: values with and without a time stamp are two types, and Flink "
            f"{check.options.flink} does not convert them."
        )
    return (
        f"It depends on the state backend: in Flink {check.options.flink} rocksdb converts the values, and with any other "
        "one the task fails at the first access."
    )


def _fix(old: State, migrates: bool) -> Fix:
    if migrates:
        return Fix(text="Nothing.")
    call = code_suggestions.time_to_live(old.ttl)
    if old.ttl is None:
        return Fix(text="Leave the time to live out again, or restore with Flink 2.2 or later.", code=f"# {call}")
    return Fix(text="Switch it on again, or restore with Flink 2.2 or later.", code=call)


_LEVELS = {True: Level.NOTE, False: Level.ERROR, None: Level.UNKNOWN}

RULE = Rule(
    id="CMP408",
    name="ttl-changed",
    level=Level.ERROR,
    other_levels=(Level.NOTE, Level.UNKNOWN),
    when="note if Flink converts the state: with rocksdb since 2.1, with hashmap since 2.2, with forst never; unknown "
    "if that depends on a backend that NEW does not set",
    fate=Fate.REFUSED,
    summary="Time to live was switched on or off for a state.",
    why="With a time to live each value is stored with a timestamp. Flink up to 2.0 cannot convert between the two "
    "forms and refuses; RocksDB converts since 2.1, the heap since 2.2.",
    old='ValueStateDescriptor("count", Types.LONG())',
    new="descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())",
    fix="Before Flink 2.2, keep it as it was, or declare the state under a new name. From 2.2 on, nothing.",
    find=_find,
)
