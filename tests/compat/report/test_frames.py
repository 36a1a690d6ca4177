"""What is shown of a program with a call added is what ``--fix`` writes, and can be pasted."""

import ast
import textwrap

import pytest

from compat.check.findings import Fix
from compat.fix.python import rewrite
from compat.report.context import ReportContext
from compat.report.frames import Addition, addition, frame
from compat.state.model.source_line import SourceLine

CALL = '.uid("a")'
PROGRAMS = {
    "a statement": "words = source.map(f)@\nwords.print()\n",
    "with a comment": "words = source.map(f)@  # by word\n",
    "an argument": "print(source.map(f)@, 3)\n",
    "a chain": "words = (\n    source\n    .map(f)@\n    .print()\n)\n",
    "the end of a chain": "words = (\n    source\n    .map(f)@  # by word\n)\n",
    "several lines": "words = source.process(\n    f,\n    Types.LONG(),\n)@\n",
    "a uid on a line below": "words = (\n    source\n    .map(f)@\n    .name('n')\n    .uid('b')\n    .print()\n)\n",
    "several lines of a chain": "words = (\n    source\n    .process(\n        f,\n    )@\n    .print()\n)\n",
    "continued lines": "words = source \\\n    .map(f)@ \\\n    .print()\n",
    "other letters": 'wörter = source.map("ß→", f)@\n',
    "in a function": "def main():\n    words = source.map(f)@\n",
    "a uid already": "words = source.map(f)@.name('f()').uid('b').map(g).uid('c')\n",
    "two on a line": "words = source.map(f)@.map(g)\n",
}


def shown(text, *calls):
    """The place of the ``@``, the program without it, and what is shown of it with the calls."""
    row = text[: text.index("@")].count("\n") + 1
    column = len(text.split("\n")[row - 1].partition("@")[0].encode())
    program = text.replace("@", "")
    place = SourceLine("job.py", row, (row, column))
    context = ReportContext(sources=lambda file: program.splitlines())
    return place, program, addition(context, Addition(place, calls))


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_shown_is_what_fix_writes(text):
    place, program, lines = shown(text, CALL)
    before = program.splitlines()
    indent = before[place.line - 1][: len(before[place.line - 1]) - len(before[place.line - 1].lstrip())]
    last = max(line.number for line in lines if line.number is not None)
    before[place.line - 1 : last] = [indent + line.text for line in lines]
    pasted = "\n".join(before) + "\n"
    fix = Fix(text="", call=CALL, at=place, operator_id="0" * 32)
    written = rewrite(program.encode(), {place.end: {"uid": ('"a"', fix)}}, {}).source.decode()
    assert ast.dump(ast.parse(textwrap.dedent(pasted))) == ast.dump(ast.parse(written))


def test_several_calls_stand_behind_one_another():
    _, _, (line,) = shown(PROGRAMS["a statement"], CALL, ".name('b')")
    assert line.text == "words = source.map(f).uid(\"a\").name('b')"
    _, _, lines = shown(PROGRAMS["a chain"], CALL, ".name('b')")
    assert [(one.number, one.text, one.added) for one in lines] == [
        (3, ".map(f)", False),
        (None, CALL, True),
        (None, ".name('b')", True),
    ]


def test_calls_of_several_operators_on_a_row_each_stand_where_theirs_ends():
    row = "words = source.map(f).map(g)"
    context = ReportContext(sources=lambda _: [row])
    ends = {call: SourceLine("job.py", 1, (1, row.index(call) + len(call))) for call in (".map(g)", ".map(f)")}
    (line,) = addition(
        context, Addition(ends[".map(g)"], (".uid('b')",)), Addition(ends[".map(f)"], (".uid('a')", ".name('n')"))
    )
    assert (line.number, line.text) == (1, "words = source.map(f).uid('a').name('n').map(g).uid('b')")


def test_of_a_long_row_each_addition_is_shown():
    row = f"words = source.map({'f' * 300}).map({'g' * 300})"
    context = ReportContext(sources=lambda _: [row])
    places = [SourceLine("job.py", 1, (1, end)) for end in (row.index(".map(g"), len(row))]
    first, second = addition(context, Addition(places[0], (".uid('a')",)), Addition(places[1], (".uid('b')",)))
    assert first.text.endswith("f).uid('a')…")
    assert second.text.endswith("g).uid('b')")


def test_calls_of_operators_that_one_call_makes_are_comments():
    context = ReportContext(sources=lambda _: ["    made.map(f)"])
    lines = addition(context, Addition(SourceLine("job.py", 1, (1, 15)), ("# 'a': .uid('a')",), shared=True))
    assert [(line.text, line.added) for line in lines] == [("made.map(f)", False), ("    # 'a': .uid('a')", True)]


@pytest.mark.parametrize(("file", "end"), [("Job.java", None), ("job.py", None)])
def test_calls_whose_place_is_not_known_stand_below(file, end):
    context = ReportContext(sources=lambda _: ["source.map(f);"])
    lines = addition(context, Addition(SourceLine(file, 1, end), (CALL,)))
    assert [line.text for line in lines] == ["source.map(f);", f"    {CALL}"]


def test_a_source_that_is_not_there_shows_nothing():
    context = ReportContext(sources=lambda _: None)
    assert addition(context, Addition(SourceLine("job.py", 1, (1, 3)), (CALL,))) == []
    assert frame(context, SourceLine("job.py", 1)) == []


def test_of_a_long_line_the_end_is_shown_where_the_call_is():
    _, _, (line,) = shown(f"words = source.map({'f' * 300})@\n", CALL)
    assert line.text.startswith("…")
    assert line.text.endswith(CALL)


ENTRY = '{"id": "n4", "kind": "map", "inputs": ["n3"]}'
TOPOLOGY = (
    '{"operators": [' + ", ".join(f'{{"id": "n{number}", "kind": "filter"}}' for number in range(40)) + f", {ENTRY}]}}"
)


def test_of_a_topology_on_one_line_the_entry_is_shown():
    end = TOPOLOGY.index(ENTRY) + len('{"id": "n4"')
    context = ReportContext(sources=lambda _: [TOPOLOGY], width=80)
    place = SourceLine("job.json", 1, (1, end))
    text, marks = frame(context, place)
    assert len(text.text) <= 80
    begin = text.text.index(ENTRY[:12])
    assert (marks.text, marks.mark) == (" " * begin + "^" * len('{"id": "n4"'), True)
    fix = Fix(text="", call='.set_uid_hash("ab")', at=place)
    assert [line.text for line in addition(context, Addition(place, (fix.field,)))] == [text.text, '"uidHash": "ab",']


def test_a_topology_gets_fields_below_the_id_of_its_entry():
    context = ReportContext(sources=lambda _: ["{", ' "id": "n1",', ' "kind": "map"', "}"])
    fix = Fix(text="", call='.uid("a")', at=SourceLine("job.json", 2, (2, 11)))
    lines = addition(context, Addition(fix.at, (fix.field,)))
    assert [(line.text, line.added) for line in lines] == [('"id": "n1",', False), ('"uid": "a",', True)]
    assert Fix(text="", call='.uid("a")', at=SourceLine("job.py", 2)).field is None
