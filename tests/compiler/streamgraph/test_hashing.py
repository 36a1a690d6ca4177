"""Laws of operator ids: what they depend on, and what not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import mmh3
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compat.compiler.errors import ErrorCode, FlinkError
from compat.compiler.streamgraph.generator import generate
from compat.compiler.streamgraph.hashing import generate_hashes, uid_hash, user_hashes
from compat.compiler.topology.build import build_job
from tests.compiler.graphs import op, stream_graph

RECORDED = Path(__file__).parents[2] / "golden" / "topologies" / "flink-2.3.jsonl.gz"
NAMES = """
    linear_chain fan_out_three identical_sources source_order_in_program disable_chaining_middle parallelism_breaks_chain
    diamond_mixed_uid join_uid_hashed_before_inputs join_no_uid_waits_for_inputs nested_diamonds union_self
    side_output_union_main multi_input_chained_sources sink_committer keyed_broadcast_state
    uid_all uid_unicode uid_hash_upper_case uid_hash_and_uid
""".split()
"""Chains and what breaks them, several inputs and outputs, uids and user hashes."""


class Hashed(msgspec.Struct, rename="camel"):
    """The ids that Flink gave, by node."""

    hashes: dict[str, str] = {}
    user_hashes: dict[str, str] = {}


class Recorded(msgspec.Struct):
    """A job, and what Flink made of it."""

    name: str
    spec: dict[str, Any]
    expected: Hashed


def recorded() -> dict[str, Recorded]:
    """The jobs of these names."""
    wanted = tuple(f'{{"name":"{name}",'.encode() for name in NAMES)
    with gzip.open(RECORDED) as file:
        found = (msgspec.json.decode(line, type=Recorded) for line in file if line.startswith(wanted))
        return {job.name: job for job in found}


JOBS = recorded()


def ids(*ops: dict[str, Any], **settings: Any) -> dict[str, str]:
    """Operator ids by name."""
    graph = stream_graph(*ops, **settings)
    return {graph.nodes[node].name: id for node, id in generate_hashes(graph).items()}


def row(*names: str, **last: Any) -> list[dict[str, Any]]:
    """A source, maps and a sink in a row; ``last`` are fields of the last map."""
    ops = [op("n0", "source", name="s")]
    for number, name in enumerate(names, start=1):
        ops.append(op(f"n{number}", "map", f"n{number - 1}", name=name, **(last if number == len(names) else {})))
    return [*ops, op("end", "print", f"n{len(names)}", name="e")]


@pytest.mark.parametrize("name", NAMES)
def test_the_ids_are_flinks(name: str) -> None:
    job = JOBS[name]
    graph = generate(build_job(job.spec, flink="2.3", defaults={}))

    assert {str(node): id for node, id in generate_hashes(graph).items()} == job.expected.hashes
    assert {str(node): id for node, id in user_hashes(graph).items()} == job.expected.user_hashes


@given(st.text(max_size=20))
@example("\ud800")
def test_a_uid_alone_gives_the_id(uid: str) -> None:
    assert uid_hash(uid) == mmh3.mmh3_x64_128_digest(uid.encode("utf-8", "surrogatepass")).hex()


@pytest.mark.parametrize("uid", ["mine", "\ud800"])
def test_an_operator_with_a_uid_keeps_its_id_wherever_it_goes(uid: str) -> None:
    before, after = ids(*row("m", uid=uid)), ids(*row("x", "y", "m", uid=uid, parallelism=5))

    assert before["m"] == after["m"] == uid_hash(uid)


def test_an_id_does_not_depend_on_names_or_parallelism() -> None:
    assert list(ids(*row("a", "b")).values()) == list(ids(*row("c", "d"), parallelism=7).values())


def test_an_operator_more_moves_the_ids_after_it_and_those_of_the_chain_before_it() -> None:
    before, after = ids(*row("a", "b")), ids(*row("a", "new", "b"))

    assert before["Source: s"] == after["Source: s"]
    assert before["b"] != after["b"]
    assert before["Sink: e"] != after["Sink: e"]


def test_an_id_depends_on_how_many_outputs_are_chained() -> None:
    chained, alone = ids(*row("a")), ids(*row("a", chaining="never"))

    assert chained["Source: s"] != alone["Source: s"]


def test_two_operators_of_one_uid_are_refused() -> None:
    graph = stream_graph(
        op("s", "source", uid="same"), op("m", "map", "s", uid="same", name="m"), op("e", "print", "m")
    )

    with pytest.raises(FlinkError, match='Hash collision on user-specified ID "same"') as refused:
        generate_hashes(graph)
    assert refused.value.code is ErrorCode.DUPLICATE_UID
    assert (refused.value.stage, refused.value.value, refused.value.operator) == ("hashes", "same", "m")


def test_a_hash_of_the_user_stands_beside_the_generated_id() -> None:
    hashed = "ABCDEF0123456789abcdef0123456789"
    graph = stream_graph(op("s", "source"), op("m", "map", "s", name="m", uidHash=hashed), op("e", "print", "m"))
    (node,) = [id for id, each in graph.nodes.items() if each.name == "m"]

    assert user_hashes(graph) == {node: hashed.lower()}
    assert generate_hashes(graph)[node] == ids(*row("m"))["m"]
