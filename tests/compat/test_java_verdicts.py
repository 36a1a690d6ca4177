"""Every golden pair in Java and SQL: the verdict says what Flink did, from two programs and from the savepoint that OLD left.

By default a part of them is looked at, with ``-m slow`` all. All programs of a version are built in a few JVMs. A verdict is
right if what Flink refused or failed, and what it exchanged, lost or went on from wrongly, is not called compatible without a
word, and what it restored rightly is. A savepoint alone does not tell what queries computed nor what classes behind Kryo were:
unknown is right there, and no longer with the names of OLD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.compat.loader.jvm.golden import program, records, savepoint
from tests.compat.loader.jvm.support import built as built_by
from tests.compat.loader.jvm.support import flink_of
from tests.compat.verdicts import Pair, plan, verdict, wrong

VERSIONS = ("2.3.0", "1.20.0", "1.20.0-to-2.3.0")
ONE_IN = 3
"""The part of the pairs that is looked at by default."""
SIZE = 12
"""How many pairs share a JVM."""

CHECKPOINT = "the job runs until its first checkpoint, which the record did not take: it fails on the heap, too"
KNOWN: dict[tuple[str, str], str] = {
    ("2.3.0", "q_uid_always_same_jvm"): "one script twice; NEW was planned in the session that had planned OLD",
    **{(version, "avro_field_added_default"): CHECKPOINT for version in VERSIONS},
}
"""Verdicts that are wrong, by version and name, with the reason."""

LOSES = {"pojo_field_renamed"}
"""Pairs whose record calls a state migrated that lost a value: ``score=110`` is ``points=0`` afterwards."""


def names(version: str, step: int) -> list[str]:
    """Each ``step``-th pair of a version."""
    return [name for known, name in records() if known == version][::step]


def built(version: str, all_names: list[str], java: Any) -> Iterator[tuple[str, Pair]]:
    """The pairs of a version, a few of them in each JVM."""
    from compat.loader.jvm.answers import answers_of
    from compat.loader.jvm.messages import Restore
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build_all

    before, _, after = version.partition("-to-")
    after = after or before
    flinks = flink_of(before), flink_of(after)
    options = JvmOptions(options={})
    for first in range(0, len(all_names), SIZE):
        part = all_names[first : first + SIZE]
        olds = build_all([program(before, name, "old") for name in part], flinks[0], java, options)
        wanted: list[dict[str, Restore]] = []
        for name, old in zip(part, olds, strict=True):
            folder = savepoint(before, name)
            restores = {"savepoint": Restore(metadata=(folder / "_metadata").read_bytes(), folder=str(folder))}
            if old.jobs:
                restores["programs"] = Restore(metadata=old.jobs[-1].savepoint)
            wanted.append(restores)
        asked = [(program(after, name, "new"), one.values()) for name, one in zip(part, wanted, strict=True)]
        news = built_by(asked, flinks[1], java, options)
        for name, old, new, restores in zip(part, olds, news, wanted, strict=True):
            nodes = {node.id: node for job in new.jobs for node in job.nodes}
            told = zip(restores, new.restored, strict=True) if new.jobs else ()
            yield name, Pair(plan(old, "old"), plan(new, "new"), {mode: answers_of(one, nodes) for mode, one in told})


PARTS = [
    *(pytest.param((version, ONE_IN), id=version) for version in VERSIONS),
    *(pytest.param((version, 1), id=f"all of {version}", marks=pytest.mark.slow) for version in VERSIONS),
]


@pytest.fixture(scope="module", params=PARTS)
def part(request: pytest.FixtureRequest) -> tuple[str, int]:
    """A version, and the step from pair to pair."""
    version, step = request.param
    return version, step


@pytest.fixture(scope="module")
def version(part: tuple[str, int]) -> str:
    return part[0]


@pytest.fixture(scope="module")
def pairs(part: tuple[str, int], java: Any) -> dict[str, Pair]:
    found = dict(built(part[0], names(*part), java))
    assert list(found) == names(*part)
    return found


@pytest.mark.parametrize("mode", ["programs", "savepoint", "savepoint and names"])
def test_the_verdict_says_what_flink_did(pairs: dict[str, Pair], version: str, mode: str) -> None:
    found = []
    for name, pair in pairs.items():
        for attempt, record in records()[version, name]["attempts"].items():
            report = verdict(pair, mode, savepoint(version.partition("-to-")[0], name), attempt)
            how = wrong(report, record | {"silentlyWrong": True} if name in LOSES else record, mode)
            if how and (version, name) not in KNOWN:
                rules = sorted({finding.rule for finding in report.findings})
                found.append(f"{name} ({attempt}): {how}; we say {report.verdict.value} {rules}")
    assert not found, "\n".join(["", *found])
