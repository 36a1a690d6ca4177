"""``--explain``: where each state goes and why, and what is different, in every format that has room for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from compat.check.decision import check
from compat.check.difference import difference
from compat.check.findings import Change
from compat.check.story import explained
from compat.cli import main
from compat.report import ReportContext, render
from compat.schemas import load
from compat.state.types import Types
from tests.compat.builders import operator, program, value_state
from tests.compat.fix.programs import INSERTED
from tests.compat.fix.programs import program as source

OLD = program("v1.py", operator("count", uid="count"), operator("Source: n", id="a" * 32, kind="source"))


def story(new, old=OLD):
    return {
        passage.old.name: " ".join((*passage.sentences, *passage.way)) for passage in explained(check(old, new)).story
    }


def test_what_is_found_by_uid_and_by_generated_id() -> None:
    told = story(program("v2.py", operator("total", uid="count"), operator("Source: n", id="a" * 32, kind="source")))
    assert told == {
        "count": "Its state goes to 'total' (uid 'count'), found by its uid, which no edit moves. "
        "It has another name now, which does not affect its state.",
        "Source: n": "Its state goes to 'Source: n', found by its generated id, which came out the same.",
    }


def test_a_moved_id_is_told_up_to_where_it_began() -> None:
    news = (
        operator("Source: n", id="b" * 32, kind="source", chained_outputs=1),
        operator("count", id="c" * 32, inputs=("b" * 32,), position=1),
    )
    olds = (
        operator("Source: n", id="a" * 32, kind="source"),
        operator("count", id="d" * 32, inputs=("a" * 32,), position=1),
    )
    told = story(program("v2.py", *news), program("v1.py", *olds))
    assert told["count"] == (
        "No operator of NEW has its id. Its work is done by 'count' now. "
        f"The id moved from {'d' * 32} to {'c' * 32}: 'count': the id of an input moved "
        "'Source: n': a first operator was chained to it"
    )


def test_what_is_gone_and_what_goes_to_another_operator() -> None:
    told = story(program("v2.py", operator("Filter", id="a" * 32, kind="filter", states=(), has_state=False)))
    assert told["count"] == "No operator of NEW has its id, and no successor was found."
    assert told["Source: n"].startswith("Its state goes to 'Filter', which has the id now and is another operator.")


def test_findings_about_the_states_are_part_of_it() -> None:
    told = story(program("v2.py", operator("count", uid="count", states=(value_state("total"),)), OLD.operators[1]))
    assert "CMP402: " in told["count"]


TYPES = {
    "a field more": (
        Types.ROW_NAMED(["a"], [Types.LONG()]),
        Types.ROW_NAMED(["b", "a"], [Types.STRING(), Types.LONG()]),
        [Change(kind="added", path=("states", "s", "type", "fields", "b"), was=None, now="STRING")],
    ),
    "a field less": (
        Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]),
        Types.ROW_NAMED(["b"], [Types.STRING()]),
        [Change(kind="removed", path=("states", "s", "type", "fields", "a"), was="LONG", now=None)],
    ),
    "within a list of tuples": (
        Types.LIST(Types.TUPLE([Types.INT(), Types.INT()])),
        Types.LIST(Types.TUPLE([Types.INT(), Types.LONG()])),
        [Change(kind="changed", path=("states", "s", "type", "element", "fields", "1"), was="INT", now="LONG")],
    ),
    "another type": (
        Types.LONG(),
        Types.STRING(),
        [Change(kind="changed", path=("states", "s", "type"), was="LONG", now="STRING")],
    ),
    "a type that only Java knows": (
        "Pojo<A>",
        "Pojo<B>",
        [Change(kind="changed", path=("states", "s", "type"), was="Pojo<A>", now="Pojo<B>")],
    ),
    "nothing": (Types.LONG(), Types.LONG(), []),
}  # fmt: skip


@pytest.mark.parametrize(("was", "now", "changes"), TYPES.values(), ids=TYPES)
def test_types_are_different_down_to_their_fields(was: object, now: object, changes: list[Change]) -> None:
    old, new = (operator("c", uid="c", states=(value_state("s", str(type_)),)) for type_ in (was, now))
    found = difference(check(program("v1.py", old), program("v2.py", new)))
    assert [change for item in found.operators for change in item.changes] == changes


def test_operators_settings_and_what_is_only_on_one_side() -> None:
    new = program("v2.py", operator("count", uid="count", parallelism=4), operator("more", uid="more", kind="sink"))
    found = difference(check(OLD, new))
    assert [item.changes for item in found.operators] == [
        (Change(kind="changed", path=("parallelism",), was=1, now=4),)
    ]
    assert [one.name for one in found.removed] == ["Source: n"]
    assert [one.name for one in found.added] == ["more"]


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_reports_for_people_tell_it(name: str) -> None:
    report = explained(check(OLD, program("v2.py", operator("count", uid="count", parallelism=4))))
    text = render(name, [report], ReportContext(sources={}))
    assert "found by its uid, which no edit moves" in text
    assert "parallelism" in text


def test_the_command_and_the_schema_of_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v1.py").write_text(source("numbers.map(identity, L).COUNTED.name('c')"))
    Path("v2.py").write_text(source(f"{INSERTED}.COUNTED.name('c')"))
    arguments = ["check", "v1.py", "v2.py", "--output", "json"]
    plain = json.loads(CliRunner().invoke(main, arguments).output)
    assert "story" not in plain
    result = CliRunner().invoke(main, [*arguments, "--explain"])
    document = json.loads(result.output)
    assert result.exit_code == 1
    jsonschema.validate(document, load("report"))
    assert [passage["fate"] for passage in document["story"]] == ["restored", "refused"]
    assert document["difference"]["operators"]


def test_without_it_the_library_for_differences_is_not_imported() -> None:
    code = "import compat.cli.check, compat.check.decision, compat.report.json_report, sys; print('deepdiff' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
