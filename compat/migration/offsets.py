"""The positions of a Kafka source under a recipe: names of topics and partitions are matched with a savepoint's."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

from compat.migration.recipe import MoveOffsets
from compat.savepoint.operators import RequestError
from compat.state.flink import OperatorState, Savepoint
from compat.state.flink.forms import Unconvertible
from compat.state.flink.kafka_positions import STARTS, TOPIC, PartitionMoves, Place, known_to, name_of, read_by
from compat.state.flink.lists import read_versioned
from compat.state.flink.states import HeaderReader
from compat.state.names import SOURCE_READER


def partition_moves(step: MoveOffsets, savepoint: Savepoint, operator: OperatorState) -> PartitionMoves:
    """The effect of a step on the partitions of a source.

    Raises RequestError for missing names, partitions that would become one, and invalid offsets;
    Unconvertible and SavepointError for a source without Kafka partitions.
    """
    read = read_by(read_versioned(savepoint, operator, SOURCE_READER, HeaderReader(savepoint)))
    known = known_to(operator)
    if not read and not known:
        raise Unconvertible("it keeps no partitions of Kafka's, or more than a megabyte of them")
    there = list(dict.fromkeys([*read, *known]))
    for topic in step.topics:
        _require(topic, [place[0] for place in there], "topic")
    names = {name_of(place): place for place in there}
    for partition in (*step.partitions, *step.offsets):
        _require(partition, names, "partition")
    moves = PartitionMoves(
        {old: _topic(new) for old, new in step.topics.items()},
        {names[old]: _partition(new) for old, new in step.partitions.items()},
        {names[old]: _offset(new) for old, new in step.offsets.items()},
    )
    twice = [
        place for places in (read, known) for place, number in Counter(map(moves.of, places)).items() if number > 1
    ]
    if twice:
        raise RequestError(f"Two partitions would become {name_of(twice[0])}.")
    return moves


def _require(name: str, there: list[str] | dict[str, Place], what: str) -> None:
    if name not in there:
        near = get_close_matches(name, there, n=3) or list(dict.fromkeys(there))[:10]
        raise RequestError(f"The source has no {what} {name!r}. It has: {', '.join(near)}.")


def _topic(text: str) -> str:
    if not TOPIC.fullmatch(text):
        raise RequestError(f"{text[:60]!r} is no name of a topic.")
    return text


def _partition(text: str) -> Place:
    topic, dash, number = text.rpartition("-")
    if not dash or not number.isdecimal() or int(number) >= 1 << 31:
        raise RequestError(f"{text[:60]!r} is no partition: write the topic and its number, as orders-3.")
    return _topic(topic), int(number)


def _offset(value: int | str) -> int:
    found = STARTS.get(value) if isinstance(value, str) else value
    if found is None or (isinstance(value, int) and not 0 <= value < 1 << 63):
        raise RequestError(f"{value!r} is no offset: write a number from 0 on, or {', '.join(sorted(STARTS))}.")
    return found
