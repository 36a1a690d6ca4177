"""Names become ids: what a person may write, and what a report tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.compiler.streamgraph.hashing import uid_hash
from compat.savepoint.names import Entry, Names
from compat.savepoint.operators import RequestError
from compat.savepoint.remap import Advice, moves, read_advice
from compat.state.flink import NewId, Savepoint, parse_metadata
from tests.state.flink import writer as w

A, B, C = "0a" * 16, "0b" * 16, "0c" * 16
NOBODY = "0d" * 16


def savepoint(*operators: tuple[str, str, str]) -> Savepoint:
    """Operators by id, uid and name."""
    written = [w.operator(w.subtask(), identity=bytes.fromhex(id), uid=uid, name=name) for id, uid, name in operators]
    return parse_metadata(w.metadata(*written), "/savepoint/_metadata")


SAVED = savepoint((A, "count", "Count"), (B, "k=v", "Count"), (C, "", "Sink: out, Map"), (uid_hash("old"), "", ""))


def mapped(*written: str, names: Names | None = None, advised: Advice | None = None) -> dict[str, NewId]:
    made = moves(SAVED, names or Names(), written, advised)
    return {move.operator.id: move.new for move in made}


@pytest.mark.parametrize(
    ("old", "id"),
    [
        (A, A),
        (A.upper(), A),
        ("count", A),
        ("k=v", B),
        ("Sink: out, Map", C),
        ("Sink: out", C),
        ("old", uid_hash("old")),
    ],
)
def test_an_operator_is_an_id_a_uid_or_a_name(old: str, id: str) -> None:
    assert mapped(f"{old}=new") == {id: NewId(uid_hash("new"), "new")}


@pytest.mark.parametrize(
    ("new", "identity"),
    [
        (NOBODY, NewId(NOBODY)),
        (NOBODY.upper(), NewId(NOBODY)),
        ("a=b", NewId(uid_hash("a=b"), "a=b")),
        ("größer 😀", NewId(uid_hash("größer 😀"), "größer 😀")),
    ],
)
def test_the_new_one_is_an_id_or_a_uid(new: str, identity: NewId) -> None:
    assert mapped(f"count={new}") == {A: identity}


COMMITTER, GLOBAL = uid_hash("Sink Committer: s"), uid_hash("Sink s Global Committer")


@pytest.mark.parametrize("recorded", ["s", ""], ids=["named", "of Flink 1.x"])
def test_the_committers_of_a_sink_follow_its_uid(recorded: str) -> None:
    saved = savepoint((uid_hash("s"), recorded, ""), (COMMITTER, "", ""), (GLOBAL, "", ""), (A, "", ""))
    made = {move.operator.id: move.new.uid for move in moves(saved, Names(), ["s=t"])}
    assert made == {uid_hash("s"): "t", COMMITTER: "Sink Committer: t", GLOBAL: "Sink t Global Committer"}
    apart = {move.operator.id: move.new.id for move in moves(saved, Names(), [f"s={NOBODY}"])}
    assert apart == {uid_hash("s"): NOBODY}
    mine = moves(saved, Names(), ["s=t", f"{COMMITTER}=mine"])
    assert [move.new.uid for move in mine] == ["t", "mine", "Sink t Global Committer"]


def test_names_from_elsewhere() -> None:
    names = Names(table={C: Entry("sink", "the sink")})
    assert mapped("sink=new", names=names) == mapped("the sink=new", names=names) == mapped(f"{C}=new")


def test_operators_change_places() -> None:
    assert mapped(f"count={B}", f"{B}=count") == {A: NewId(B), B: NewId(uid_hash("count"), "count")}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["count"], "not of the form OLD=NEW"),
        (["count="], "not of the form OLD=NEW"),
        (["=new"], "not of the form OLD=NEW"),
        (["cuont=new"], "has no operator 'cuont'. Nearest: 'count'"),
        (["nothing like it=new"], "It has: 'Count' (0a0a"),
        ([f"{NOBODY}=new"], f"has no operator '{NOBODY}'"),
        (["Count=new"], f"2 operators are called 'Count': write the id of the one that is meant: {A}, {B}"),
        (["count=a", "count=b"], "is mapped twice"),
        (["count=x", f"{B}=x"], "would both have the id"),
        (["count=old"], "operator " + uid_hash("old") + " has it. Map that one too"),
        (["old=" + "x" * 65_536], "cannot be a uid"),
        (["old=" + "😀" * 10_923], "cannot be a uid"),
        (["old=\udce9"], "cannot be a uid"),
    ],
)
def test_what_cannot_be_is_refused(written: list[str], said: str) -> None:
    with pytest.raises(RequestError) as refused:
        mapped(*written)
    assert said in str(refused.value)


def test_a_text_that_can_be_cut_in_two_ways_is_refused() -> None:
    saved = savepoint((A, "k", ""), (B, "k=v", ""))
    with pytest.raises(RequestError, match="can be read in 2 ways"):
        moves(saved, Names(), ["k=v=new"])


def test_a_savepoint_that_lists_an_operator_twice_is_refused() -> None:
    with pytest.raises(RequestError, match="twice"):
        moves(savepoint((A, "a", ""), (A, "b", "")), Names(), ["a=new"])


def test_a_savepoint_without_names_says_where_they_come_from() -> None:
    with pytest.raises(RequestError, match=r"--names OLD\.py gives names"):
        moves(savepoint((A, "", "")), Names(), ["count=new"])


def advice(**ids: str) -> Advice:
    return Advice(ids={{"a": A, "b": B}[key]: NewId(id) for key, id in ids.items()}, left=(), new_program=None)


def test_what_a_person_writes_goes_before_what_a_report_says() -> None:
    assert mapped("count=mine", advised=advice(a=NOBODY, b="0e" * 16)) == {
        A: NewId(uid_hash("mine"), "mine"),
        B: NewId("0e" * 16),
    }


def test_a_report_on_another_savepoint_is_refused() -> None:
    with pytest.raises(RequestError, match="about another savepoint"):
        mapped(advised=Advice(ids={NOBODY: NewId(A)}, left=(), new_program=None))


def test_a_report_with_nothing_to_map_is_refused() -> None:
    with pytest.raises(RequestError, match="nothing to map"):
        mapped(advised=Advice(ids={}, left=(), new_program="new.py"))


def operator(id: str, uid: str | None = None, name: str = "op") -> dict[str, object]:
    return {"operator_id": id, "uid": uid, "name": name}


def row(old: object, new: object, fate: str, successor: object = None) -> dict[str, object]:
    return {"old": old, "new": new, "fate": fate, "by": "", "note": "", "successor": successor}


def report(folder: Path, content: object) -> str:
    file = folder / "report.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


def test_a_report_tells_successors(tmp_path: Path) -> None:
    rows = [
        row(operator(A), None, "refused", operator(uid_hash("new"), "new")),
        row(operator(B), operator(C), "wrong-hands", operator(NOBODY, "not the uid of the id")),
        row(operator(C, "gone"), None, "refused"),
        row(operator("0e" * 16, name="two"), operator(A), "wrong-hands"),
        row(operator("0f" * 16), operator("0f" * 16), "restored"),
        row(None, operator(NOBODY), "empty"),
    ]
    found = read_advice(report(tmp_path, {"mapping": rows, "new": {"name": "new.py"}}))
    assert found.ids == {A: NewId(uid_hash("new"), "new"), B: NewId(NOBODY)}
    assert found.left == (f"'gone' ({C})", f"'two' ({'0e' * 16})")
    assert found.new_program == "new.py"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("\x00", "cannot be read"),
        ([], "no table `mapping`"),
        ({}, "no table `mapping`"),
        ({"reports": []}, "several reports"),
        ({"mapping": [1]}, "no report"),
        ({"mapping": [{}]}, "no report"),
        ({"mapping": [row(operator("x"), None, "refused", operator(A))]}, "'x' is no operator id"),
        ({"mapping": [row(operator(A), None, "refused", operator("../../etc"))]}, "is no operator id"),
        ({"mapping": [row(operator(A), None, "refused", {"operator_id": 3, "uid": None})]}, "no report"),
        ({"mapping": [row(operator(A), None, "refused", [])]}, "no report"),
        ({"mapping": [], "new": {}}, "no report"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_advice(report(tmp_path, content))
    assert said in str(refused.value)
