"""The rules about Kafka beside what real Flink did with a real broker: ``tests/compat/pairs/record_kafka_restores.py``."""

from __future__ import annotations

import json
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from compat.state.model.connectors import DeliveryGuarantee, KafkaSink, TransactionNaming
from tests.compat.check.test_kafka_rules import told, writer
from tests.compat.pairs.judging import CLUSTER, Judged, judge_all
from tests.compat.pairs.kafka_jobs import ALL, CASES, NAMED, Case, End, Meanwhile
from tests.compat.pairs.model import OK, pair
from tests.compat.pairs.record_kafka_restores import KEPT, RECORDS, SAVEPOINTS, digest

RECORDED = json.loads(RECORDS.read_text(encoding="utf-8"))
BY_NAME = {case.name: case for case in ALL}
WHOLE = [connector for connector, records in RECORDED.items() if records["cases"].keys() == BY_NAME.keys()]
"""The connectors that all cases are recorded with; the others have those that tell them apart."""
WRITES = {"CMP805", "CMP806", "CMP807", "CMP808"}
"""Rules about sinks that publish at checkpoints."""


class Restore:
    """What was seen of a case with a version of the connector."""

    def __init__(self, connector: str, case: Case) -> None:
        self.connector, self.case = connector, case
        self.record: dict[str, Any] = RECORDED[connector]["cases"][case.name]

    @property
    def outcome(self) -> str | list[str]:
        """``runs``, ``finished``, or errors."""
        return self.record["NEW"]  # type: ignore[no-any-return]

    @property
    def read(self) -> list[str]:
        """The records that the last run wrote, of which some may have been written before."""
        before, after = (self.record[when]["all"] for when in ("when OLD had ended", "when NEW had read"))
        return after[len(before) :]  # type: ignore[no-any-return]

    @property
    def held_up(self) -> bool:
        """Whether an open transaction holds up readers of committed data after the last run came to a rest."""
        return bool(self.record["when NEW had read"]["open transaction"])

    @cached_property
    def published(self) -> Counter[str]:
        """How often readers of committed data get each record in the end."""
        return Counter(self.record["when their time was over"]["committed"])

    @property
    def lost(self) -> set[str]:
        """Records that were written and that no reader of committed data gets."""
        return set(self.record["when their time was over"]["all"]) - self.published.keys()

    @property
    def doubled(self) -> set[str]:
        """Records that readers of committed data get twice."""
        return {record for record, times in self.published.items() if times > 1}

    @property
    def harm(self) -> bool:
        """Whether NEW fails, or readers of committed data miss something, get it twice, or wait for it."""
        return bool(isinstance(self.outcome, list) or self.lost or self.doubled or self.held_up)


def _seen(cases: list[Case]) -> list[Restore]:
    return [Restore(name, case) for name in RECORDED for case in cases if case.name in RECORDED[name]["cases"]]


SEEN = _seen([case for case in CASES if case.meanwhile is Meanwhile.NOTHING])


def _each(seen: list[Restore]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("seen", [pytest.param(one, id=f"{one.connector}-{one.case.name}") for one in seen])


RESTORES = _each(SEEN)
SINKS = _each([seen for seen in SEEN if seen.case.before.source == seen.case.after.source])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    return judge_all([pair(case.name, case.old, case.new, OK) for case in CASES], tmp_path_factory.mktemp("jobs"))


def _said(judged: dict[str, Judged], seen: Restore) -> set[str]:
    return {rule for rule in judged[seen.case.name].rules() if rule.startswith("CMP80")}


def test_every_case_is_recorded() -> None:
    assert WHOLE
    for records in RECORDED.values():
        assert {name: one["programs"] for name, one in records["cases"].items()} == {
            name: digest(BY_NAME[name]) for name in records["cases"]
        }


# Sources


@RESTORES
def test_a_topic_that_new_does_not_name_is_read_where_the_rule_says_so(
    seen: Restore, judged: dict[str, Judged]
) -> None:
    named = "returns" in seen.case.after.source
    unnamed = {record for record in seen.read if record.startswith("returns")} if not named else set()
    assert bool(unnamed) == ("CMP801" in _said(judged, seen)), seen.read


@RESTORES
def test_a_new_topic_is_read_from_its_beginning_and_the_rule_speaks_where_new_says_otherwise(
    seen: Restore, judged: dict[str, Judged]
) -> None:
    added = "returns" in seen.case.after.source and "returns" not in seen.case.read
    assert added == ("returns 0" in seen.read and seen.case.read == ("orders",))
    assert (added and "earliest" not in seen.case.after.source) == ("CMP802" in _said(judged, seen))


@RESTORES
def test_reading_goes_on_where_it_was_whatever_the_group_and_the_start_are(
    seen: Restore, judged: dict[str, Judged]
) -> None:
    if "CMP803" in _said(judged, seen):
        orders = sorted(record for record in seen.read if record.startswith("orders"))
        assert (seen.outcome, orders) == ("runs", ["orders 5", "orders 6"])


@_each([seen for seen in SEEN if seen.case.name in ("end-removed", "end-added")])
def test_partitions_end_where_old_was_to_end(seen: Restore, judged: dict[str, Judged]) -> None:
    assert _said(judged, seen) == {"CMP804"}
    assert seen.read == (["orders 5"] if seen.case.name == "end-removed" else ["orders 5", "orders 6"])
    assert seen.outcome == "runs"


@pytest.mark.parametrize("connector", WHOLE)
def test_a_source_goes_on_from_its_group_where_a_checkpoint_committed_its_offsets(connector: str) -> None:
    """A job that is stopped with a savepoint may end before its group's offsets are committed, and NEW then knows none."""
    at_once, later = (Restore(connector, BY_NAME[f"source-moved-{when}"]) for when in ("at-once", "later"))
    assert (later.outcome, later.read) == ("runs", ["orders 5", "orders 6"])
    assert later.record["when OLD had ended"]["offset of the group"] == 3
    known = at_once.record["when OLD had ended"]["offset of the group"] == 3
    assert (at_once.outcome == "runs") == known


@_each(_seen([case for case in CASES if case.meanwhile is not Meanwhile.NOTHING]))
def test_a_deleted_topic_ends_nothing_but_a_job_that_names_it(seen: Restore, judged: dict[str, Judged]) -> None:
    """The restored offset is not there any more in what was created again, and the source begins anew."""
    named = "set_topics" in seen.case.after.source and "returns" in seen.case.after.source
    assert isinstance(seen.outcome, list) == named, seen.outcome
    if named:
        assert "UnknownTopicOrPartitionException" in seen.outcome[-1]
    else:
        there = ["returns 5", "returns 6"] if seen.case.meanwhile is not Meanwhile.DELETED else []
        assert sorted(seen.read) == ["orders 5", "orders 6", *there]
    assert ("CMP801" in _said(judged, seen)) == ("returns" not in seen.case.after.source)


# Sinks


def _change(case: Case) -> tuple[str, str, bool]:
    """What is changed of a sink, apart from how OLD ended, which nobody who checks two programs knows."""
    return case.before.sink, case.after.sink, case.before.sink_uid == case.after.sink_uid


@SINKS
def test_where_readers_of_committed_data_are_harmed_a_rule_speaks(seen: Restore, judged: dict[str, Judged]) -> None:
    if seen.harm and seen.case.end is not End.OLDER:
        assert _said(judged, seen) & WRITES, seen.record


@SINKS
def test_where_a_rule_speaks_some_end_of_old_does_harm(seen: Restore, judged: dict[str, Judged]) -> None:
    alike = [
        one
        for one in SEEN
        if (one.connector, _change(one.case)) == (seen.connector, _change(seen.case)) and one.case.end is not End.OLDER
    ]
    promises = (
        "EXACTLY_ONCE" in seen.case.before.sink + seen.case.after.sink
    )  # else it is the next failure that does harm
    if _said(judged, seen) & WRITES and seen.connector in WHOLE and promises:
        assert any(one.harm for one in alike), [one.record for one in alike]


@SINKS
def test_nothing_is_lost_or_left_open_after_a_stop_with_the_savepoint(seen: Restore) -> None:
    """As the fixes say. A sink without checkpoints never commits, whatever it is restored from."""
    if seen.case.end is End.STOPPED and seen.case.after.every is not None and seen.outcome == "runs":
        assert not seen.harm


@_each([seen for seen in SEEN if seen.case.name == "weaker-killed-ready"])
def test_a_weaker_sink_loses_what_is_ready_since_4_0_1(seen: Restore) -> None:
    ready = {"orders 0", "orders 1", "orders 2"}
    assert seen.lost == (set() if seen.connector.startswith("3.") else ready)


@_each([seen for seen in SEEN if seen.case.name.startswith("prefix-")])
def test_another_prefix_harms_whom_its_state_does_not_reach(seen: Restore) -> None:
    found = seen.case.after.sink_uid == seen.case.before.sink_uid
    assert seen.held_up == (not found or seen.case.end is End.WENT_BACK)
    assert bool(seen.lost) == (not found)


@_each([seen for seen in SEEN if "scaled" in seen.case.name])
def test_another_parallelism_harms_nobody(seen: Restore, judged: dict[str, Judged]) -> None:
    assert (seen.outcome, _said(judged, seen)) == ("runs", set())
    assert not seen.harm
    assert {"orders 0", "orders 1", "orders 2", "orders 5", "orders 6"} <= seen.published.keys()


@_each(_seen(NAMED))
def test_a_way_back_from_pooling_is_refused_and_nothing_else(seen: Restore) -> None:
    was, now = (
        KafkaSink(
            guarantee=DeliveryGuarantee.EXACTLY_ONCE,
            transactional_id_prefix="copy",
            naming=TransactionNaming[job.naming or "INCREMENTING"],
        )
        for job in (seen.case.before, seen.case.after)
    )
    assert bool(told("CMP808", writer(was), writer(now))) == isinstance(seen.outcome, list), seen.outcome
    if isinstance(seen.outcome, list):
        assert "Attempted to switch the transaction naming strategy back to INCREMENTING" in seen.outcome[-1]
    else:
        assert not seen.harm, seen.record


@pytest.mark.parametrize("connector", WHOLE)
@pytest.mark.parametrize("name", KEPT)
def test_a_savepoint_tells_how_transactions_were_named(connector: str, name: str, tmp_path: Path) -> None:
    (savepoint,) = (SAVEPOINTS / connector / name).iterdir()
    new = tmp_path / "new.py"
    new.write_text(replace(BY_NAME[name], after=replace(BY_NAME[name].after, naming=None)).new, encoding="utf-8")
    load = LoadOptions(options=CLUSTER, flink="2.3")
    (outcome,) = compare(Comparison(str(savepoint), str(new), load=load, load_old=load)).outcomes
    assert Judged(outcome).rules() & WRITES == ({"CMP808"} if name.startswith("pooling") else set())


@pytest.mark.parametrize("connector", WHOLE)
def test_an_older_savepoint_publishes_again(connector: str, tmp_path: Path) -> None:
    for name in ("older-savepoint", "older-savepoint-weak"):
        case, (first, second) = BY_NAME[name], sorted((SAVEPOINTS / connector / name).iterdir())
        new = tmp_path / f"{name}.py"
        new.write_text(case.new, encoding="utf-8")
        assert Restore(connector, case).doubled == {"orders 3", "orders 4"}
        spoken = {}
        for savepoint in (first, second):
            load = LoadOptions(options=CLUSTER, flink="2.3")
            (outcome,) = compare(Comparison(str(savepoint), str(new), load=load, load_old=load)).outcomes
            spoken[savepoint] = Judged(outcome).rules() & WRITES
        promised = "EXACTLY_ONCE" in case.after.sink  # the others promise no more
        assert spoken == {first: {"CMP807"} if promised else set(), second: set()}
