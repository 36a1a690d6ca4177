"""CMP2xx: chains, exchanges, iterations, and snapshots that bind the job's shape."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, UNKNOWN, Pair, Saved, Topology, pair, under
from tests.compat.pairs.programs import KEPT, KEYED, value
from tests.compat.savepoint.golden import saved

_LONELY = "numbers.map(lambda x: x, L).forward().map(lambda x: x, L).set_parallelism(3).print()\n"

_NO_ITERATIONS = "PyFlink has no iterations"
_STRAIGHT = """{"env": {"parallelism": 1}, "ops": [
{"id": "a", "kind": "legacy_source", "uid": "a"},
{"id": "f", "kind": "filter", "inputs": ["a"], "uid": "f"},
{"id": "out", "kind": "print", "inputs": ["f"], "uid": "out"}
]}"""
_LOOP = """{"env": {"parallelism": 1}, "ops": [
{"id": "a", "kind": "legacy_source", "uid": "a"},
{"id": "it", "kind": "iterate", "inputs": ["a"]},
{"id": "f", "kind": "filter", "inputs": ["it"], "uid": "f"},
{"id": "end", "kind": "close_with", "inputs": ["it", "f"]},
{"id": "out", "kind": "print", "inputs": ["f"], "uid": "out"}
]}"""

FINISHED, IN_FLIGHT = "broadcast_p2_native_files", "backpressured_unaligned_checkpoint"
_RULES = '"rules") \\\n        .uid("rules")'


def rewritten(name: str, old: str, new: str) -> str:
    """The program that wrote a savepoint, with a text replaced."""
    program: str = saved(name)["program"]
    assert old in program, old
    return program.replace(old, new)


def _with_loop(name: str, verdict: str, *rules: str, **definitions: str) -> Pair:
    given = pair(name, Topology(_STRAIGHT), Topology(_LOOP), verdict, *rules, unrecorded=_NO_ITERATIONS)
    return under(given, flink="1.20", definitions={key.replace("_", "."): text for key, text in definitions.items()})


_ENDS = 'env.from_collection([1, 2], L).uid("few").map(lambda n: n, L).uid("as it is")'


_OF_FILES = """import time

from pyflink.common import Duration
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
"""
_WITHOUT_END = (
    'FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in")'
    ".monitor_continuously(Duration.of_millis(1000)).build()"
)
_NOT_SHOWN = "the programs do not print what they read again; of one that did, Flink 2.3 counted all of it twice"


def _beside(graph: str) -> str:
    """A counter with something beside it that soon ends."""
    return value("L", graph=KEPT + f'.print().uid("out")\n{graph}.filter(lambda n: False)')


SHAPE = [
    pair("chain_broken", value("L"), value("L", graph=KEPT + '.print().disable_chaining().uid("out")'), OK),
    pair("chain_that_begins_there", value("L"), value("L", graph=KEPT + '.start_new_chain().print().uid("out")'), OK),
    pair("forward_between_parallelisms", value("L"), value("L", graph=_LONELY + KEYED), BROKEN, "CMP202"),
    pair(
        "rebalance_between_parallelisms",
        value("L"),
        value("L", graph=_LONELY.replace("forward", "rebalance") + KEYED),
        OK,
    ),
    _with_loop("iterations_with_checkpoints", BROKEN, "CMP203", execution_checkpointing_interval="1000"),
    _with_loop("iterations_without_checkpoints", OK),
    under(
        pair(
            "operator_put_into_a_finished_chain",
            Saved(FINISHED),
            rewritten(FINISHED, _RULES, _RULES + '.map(lambda x: x, L).uid("new")'),
            BROKEN,
            "CMP204",
        ),
        names=saved(FINISHED)["program"],
    ),
    under(
        pair(
            "operator_put_behind_a_finished_chain",
            Saved(FINISHED),
            rewritten(FINISHED, _RULES, _RULES + '.rebalance().map(lambda x: x, L).uid("new")'),
            OK,
        ),
        names=saved(FINISHED)["program"],
    ),
    pair(
        "source_of_a_chain_that_ends_renamed", _beside(_ENDS), _beside(_ENDS.replace("few", "two")), UNKNOWN, "CMP204"
    ),
    pair(
        "chain_that_ends_renamed",
        _beside(_ENDS),
        _beside(_ENDS.replace("few", "two").replace("it is", "it was")),
        UNKNOWN,
        "CMP206",
        unrecorded=_NOT_SHOWN,
    ),
    under(
        pair(
            "finished_source_renamed",
            Saved(FINISHED),
            rewritten(FINISHED, _RULES, _RULES.replace('uid("rules")', 'uid("all rules")')),
            BROKEN,
            "CMP206",
            "CMP107",
            unrecorded=_NOT_SHOWN,
        ),
        names=saved(FINISHED)["program"],
    ),
    under(
        pair(
            "finished_source_without_end",
            Saved(FINISHED),
            rewritten(FINISHED, "NumberSequenceSource(0, 3)", _WITHOUT_END).replace("import time\n", _OF_FILES, 1),
            BROKEN,
            "CMP207",
            unrecorded=_NOT_SHOWN,
        ),
        names=saved(FINISHED)["program"],
    ),
    under(
        pair("finished_source_kept", Saved(FINISHED), saved(FINISHED)["program"], OK, unrecorded=_NOT_SHOWN),
        names=saved(FINISHED)["program"],
    ),
    under(
        pair(
            "exchange_with_records_in_flight_gone",
            Saved(IN_FLIGHT),
            rewritten(IN_FLIGHT, ".rebalance()", ""),
            BROKEN,
            "CMP205",
        ),
        names=saved(IN_FLIGHT)["program"],
    ),
    under(
        pair("exchange_with_records_in_flight_kept", Saved(IN_FLIGHT), saved(IN_FLIGHT)["program"], OK),
        names=saved(IN_FLIGHT)["program"],
    ),
]
