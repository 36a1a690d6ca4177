"""Writes what Flink made of the scripts: ``python -m tests.compat.sql.record [NAME…]``."""

import gzip
import json
import sys
from pathlib import Path

from msgspec import structs

from compat.loader.jvm.java import find_java
from compat.loader.jvm.messages import SqlScript
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.process import JvmOptions
from compat.plan.reading import from_plain
from compat.plan.writing import plain
from tests.compat.loader.jvm.golden import program, records
from tests.compat.loader.jvm.support import build_all, flink_of
from tests.compat.sql.scripts import PAIRS

GOLDEN = Path(__file__).parents[2] / "golden" / "sql" / "plans.json.gz"
VERSION = "2.3.0"
_AT_ONCE = 20


def golden_names():
    """The pairs of scripts that Flink ran."""
    return [name for version, name in records() if version == VERSION and name.startswith("q_")]


def script(name, side):
    """A script of a pair: one of ours, or one that Flink ran."""
    if name in PAIRS:
        return SqlScript(path=f"{side}.sql", text=getattr(PAIRS[name], side))
    return program(VERSION, name, side)


def build(names, flink, java):
    """The plans of the last jobs of pairs, by name and side; what savepoints hold is left out."""
    asked = [(name, side) for name in names for side in ("old", "new")]
    outcomes = build_all([script(*one) for one in asked], flink, java, JvmOptions(options={}, timeout=300))
    for one, outcome in zip(asked, outcomes, strict=True):
        assert outcome.jobs, (one, outcome.crash)
        assert outcome.crash is None, (one, outcome.crash)
    return {one: lean(plan_of(outcome.jobs[-1], f"{one[1]}.sql")) for one, outcome in zip(asked, outcomes, strict=True)}


def lean(plan):
    """A plan without the bytes of serializers."""
    operators = tuple(
        structs.replace(
            operator,
            states=None
            if operator.states is None
            else tuple(structs.replace(state, serializers=None) for state in operator.states),
        )
        for operator in plan.operators
    )
    return structs.replace(plan, operators=operators, empty_savepoint=None)


def read():
    """The recorded plans, by name and side."""
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as file:
        return {tuple(key.split("/")): from_plain(value) for key, value in json.load(file).items()}


def write(plans):
    """Keep the plans."""
    text = json.dumps({"/".join(key): plain(plan) for key, plan in sorted(plans.items())}, separators=(",", ":"))
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main(names):
    """Build some pairs, or all, and keep their plans beside those that are there."""
    known = {key: plan for key, plan in (read() if names else {}).items() if key[0] in {*PAIRS, *golden_names()}}
    wanted = names or [*PAIRS, *golden_names()]
    flink, java = flink_of(VERSION), find_java()
    for start in range(0, len(wanted), _AT_ONCE):
        known |= build(wanted[start : start + _AT_ONCE], flink, java)
    write(known)


if __name__ == "__main__":
    main(sys.argv[1:])
