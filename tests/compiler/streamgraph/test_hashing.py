"""Laws of operator ids: what they depend on, and what not."""

from __future__ import annotations

from typing import Any

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.errors import FlinkError
from compat.compiler.streamgraph.hashing import generate_hashes, uid_hash, user_hashes
from tests.compiler.graphs import op, stream_graph


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


@given(st.text(max_size=20))
def test_a_uid_alone_gives_the_id(uid: str) -> None:
    assert uid_hash(uid) == mmh3.mmh3_x64_128_digest(uid.encode("utf-8", "surrogatepass")).hex()


def test_an_operator_with_a_uid_keeps_its_id_wherever_it_goes() -> None:
    before, after = ids(*row("m", uid="mine")), ids(*row("x", "y", "m", uid="mine", parallelism=5))

    assert before["m"] == after["m"] == uid_hash("mine")


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

    with pytest.raises(FlinkError, match='Hash collision on user-specified ID "same"'):
        generate_hashes(graph)


def test_a_hash_of_the_user_stands_beside_the_generated_id() -> None:
    hashed = "ABCDEF0123456789abcdef0123456789"
    graph = stream_graph(op("s", "source"), op("m", "map", "s", name="m", uidHash=hashed), op("e", "print", "m"))
    (node,) = [id for id, each in graph.nodes.items() if each.name == "m"]

    assert user_hashes(graph) == {node: hashed.lower()}
    assert generate_hashes(graph)[node] == ids(*row("m"))["m"]
