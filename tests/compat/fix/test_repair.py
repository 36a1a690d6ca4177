"""``compat check --fix``: the difference is shown and written, and the check made again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.compiler.streamgraph.hashing import uid_hash
from tests.compat.fix.programs import INSERTED, program, spelled

PLAIN = "numbers.map(identity, L)"
FILES = """\
from pyflink.common import Encoder
from pyflink.datastream.connectors.file_system import FileSink
files = FileSink.for_row_format("/out", Encoder.simple_string_encoder()).build()
"""
PAIRS = Path(__file__).parents[2] / "golden" / "pyflink-2.3" / "programs" / "pairs"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fix(old: str, new: str, *options: str) -> Result:
    Path("old.py").write_text(old, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    return CliRunner().invoke(main, ["check", "old.py", "new.py", "--fix", *options])


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of ``after`` that are not in ``before``; what is taken away must have come back changed."""
    was, now = before.splitlines(), after.splitlines()
    assert len(now) - len(was) <= len([line for line in now if line not in was])
    return [line.strip() for line in now if line not in was]


REPAIRS = {
    "a moved operator is pinned to its old id": (
        program(f"{PLAIN}.COUNTED.name('c').print()"),
        program(f"{INSERTED}.COUNTED.name('c').print()"),
        ['.process(Count(), L).set_uid_hash("'],
    ),
    "a lost uid is given back": (
        program("numbers.COUNTED.uid('count').add_sink(None)"),
        program("(", "    numbers", "    .key_by(identity, L)", "    .process(Count(), L)  # c", "    .add_sink(None)", ")"),
        ['.uid("count")'],
    ),
    "max parallelism on the environment": (
        program("env.set_max_parallelism(64)", "numbers.COUNTED.uid('c').name('c')"),
        program("MOST = 256", "env.set_max_parallelism(MOST)", "numbers.COUNTED.uid('c')"),
        ["env.set_max_parallelism(64)"],
    ),
    "max parallelism that was derived": (
        program("numbers.COUNTED.uid('c')"),
        program("counts = numbers.COUNTED.uid('c')", "counts.set_max_parallelism(32)"),
        ["counts.set_max_parallelism(128)"],
    ),
    "two operators of one line": (
        program(f"s = {PLAIN}", "for stream in [s]:", "    stream.COUNTED.name('a').COUNTED.name('b')"),
        program(f"s = {INSERTED}", "s.COUNTED.name('a').COUNTED.name('b')"),
        ["s.COUNTED.set_uid_hash("],
    ),
    "a function that is called once": (
        program("def counted(s):", "    return s.COUNTED.name('c')", f"counted({PLAIN})"),
        program("def counted(s):", "    return s.COUNTED.name('c')", f"counted({INSERTED})"),
        ["return (", "s.key_by(", ".process(", ".set_uid_hash(", ".name('c')", ")"],
    ),
    "a branch of a union": (
        program(f"a = {PLAIN}", "b = numbers.map(identity, L)", "a.union(b).COUNTED.name('c')"),
        program(f"a = {INSERTED}", "b = numbers.map(identity, L)", "a.union(b).COUNTED.name('c')"),
        ["a.union(b).COUNTED.set_uid_hash(", '"', ").name('c')"],
    ),
    "a uid that was copied": (
        program("numbers.COUNTED.uid('c').name('c')"),
        program("numbers.COUNTED.uid('c').name('copy')", "numbers.COUNTED.uid('c').name('c')"),
        ["""numbers.COUNTED.uid("copy").name('copy')"""],
    ),
    "a uid that was copied twice": (
        program("numbers.COUNTED.uid('c').name('c')", "numbers.COUNTED.uid('d').name('d')"),
        program("s = numbers.COUNTED.uid('c').name('c')", "s.COUNTED.uid('c').name('d').COUNTED.uid('c')"),
        ["""s.COUNTED.uid("d").name('d').COUNTED.uid("keyed-process")"""],
    ),
    "a uid that two sinks of several parts share": (
        program(FILES, "numbers.sink_to(files).name('one').uid('s')"),
        program(FILES, "numbers.sink_to(files).name('two').uid('s')", "numbers.sink_to(files).name('one').uid('s')"),
        ["""numbers.sink_to(files).name('two').uid("two-writer")"""],
    ),
    "a hash that was cut": (
        program("numbers.COUNTED.uid('c').name('c')"),
        program(f"numbers.COUNTED.set_uid_hash('{uid_hash('c')[:8]}').name('c')"),
        [f"""numbers.COUNTED.set_uid_hash("{uid_hash('c')}").name('c')"""],
    ),
    "the state that a user hash took the place of": (
        program("numbers.COUNTED.uid('c').name('c')", "numbers.COUNTED.uid('d').name('d')"),
        program(f"numbers.COUNTED.uid('c').set_uid_hash('{uid_hash('d')}').name('c')", "numbers.COUNTED.name('d')"),
        [f"""numbers.COUNTED.uid('c').set_uid_hash("{uid_hash('c')}").name('c')""", "numbers.COUNTED.uid(\"d\").name('d')"],
    ),
    "a source": (
        program(PLAIN).replace('.uid("numbers")', ""),
        program(PLAIN).replace('.uid("numbers")', '.uid("other")'),
        ["numbers = env.from_source("],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), REPAIRS.values(), ids=REPAIRS)
def test_the_repaired_program_restores_and_only_the_lines_needed_change(
    old: str, new: str, expected: list[str]
) -> None:
    result = fix(old, new)
    assert result.exit_code == 0, result.output
    after = Path("new.py").read_text(encoding="utf-8")
    lines = changed_lines(new, after)
    assert len(lines) == len(expected), lines
    assert all(spelled(part) in line for part, line in zip(expected, lines, strict=True)), lines
    assert result.output.startswith("--- new.py\n+++ new.py\n")
    assert "COMPATIBLE: new.py restores the state of old.py" in result.output
    assert sorted(os.listdir()) == ["new.py", "old.py"]


def test_a_preview_shows_what_would_be_written_and_writes_nothing() -> None:
    old, new = program("numbers.COUNTED.uid('c')"), program("numbers.COUNTED.uid('d')")
    shown = fix(old, new, "--diff")
    assert shown.exit_code == 1
    assert shown.output.startswith("--- new.py\n+++ new.py\n")
    assert "Nothing was written" in shown.output
    assert shown.output.splitlines()[-1] == "Next: compat check old.py new.py --fix"
    assert Path("new.py").read_text(encoding="utf-8") == new
    written = fix(old, new)
    assert (
        written.output.partition("COMPATIBLE")[0].rstrip() == shown.output.partition("Nothing was written")[0].rstrip()
    )
    assert "Nothing to fix" in fix(old, old, "--diff").output


def test_a_sink_gets_its_uid_back() -> None:
    sink = (
        "from pyflink.datastream.connectors.file_system import FileSink\n"
        "from pyflink.common.serialization import Encoder\n"
        "sink = FileSink.for_row_format('/tmp/x', Encoder.simple_string_encoder()).build()\n"
    )
    line = "numbers.map(str, Types.STRING()).sink_to(sink)"
    new = sink + program(line)
    result = fix(sink + program(line + ".uid('out')"), new)
    assert result.exit_code == 0, result.output
    assert changed_lines(new, Path("new.py").read_text(encoding="utf-8")) == [f'{line}.uid("out")']


@pytest.mark.parametrize("name", ["branches_swapped_no_uid", "operator_inserted_no_uid", "uids_added"])
def test_recorded_pairs_that_an_edit_repairs(name: str) -> None:
    old, new = ((PAIRS / name / f"{side}.py").read_text(encoding="utf-8") for side in ("old", "new"))
    result = fix(old, new, "-D", "parallelism.default=2")
    assert result.exit_code == 0, result.output


REFUSED = {
    "several operators of one line": (
        program("for n in 'ab':", f"    {PLAIN}.COUNTED.name(n)"),
        program("for n in 'ab':", f"    {INSERTED}.COUNTED.name(n)"),
        "that line makes 2 operators ('a', 'b'), which need different settings",
    ),
    "a uid of all operators of a line": (
        program("numbers.COUNTED.uid('c').name('a')"),
        program("for n in 'ab':", "    numbers.COUNTED.uid('c').name(n)"),
        "One line makes 2 operators, of which one should not have the uid 'c': give each a uid of its own.",
    ),
    "a uid of one operator of a line, which makes another too": (
        program("numbers.COUNTED.uid('c').name('a')"),
        program("for n in 'cd':", "    numbers.COUNTED.uid(n).name(n)", "numbers.COUNTED.uid('c').name('a')"),
        "One line makes 2 operators, of which one should not have the uid 'c': give each a uid of its own.",
    ),
    "a hash that stands for nothing": (
        program("numbers.COUNTED.uid('c')"),
        program("numbers.COUNTED.set_uid_hash('d')"),
        "Give set_uid_hash the 32 hex digits of an operator id of OLD",
    ),
    "a hash that is computed, for several operators": (
        program("for n in ['first', 'second']:", "    numbers.COUNTED.uid(n).name(n)"),
        program("for n in ['first', 'second']:", "    numbers.COUNTED.set_uid_hash(n).name(n)"),
        "the argument of set_uid_hash there is computed, and may differ for other operators",
    ),
    "what is the user's to decide": (
        program("env.set_parallelism(2)", "numbers.COUNTED.uid('c').set_max_parallelism(2)"),
        program("env.set_parallelism(4)", "numbers.COUNTED.uid('c')"),
        "you have to decide",
    ),
    "what no edit repairs": (
        program("numbers.COUNTED.uid('c')"),
        program("numbers.map(identity)"),
        "Nothing to fix",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_repaired_is_left_alone_with_the_reason(old: str, new: str, reason: str) -> None:
    result = fix(old, new)
    assert result.exit_code == 1, result.output
    assert reason in " ".join(result.output.split())
    assert Path("new.py").read_text(encoding="utf-8") == new


def test_ids_that_nobody_set_are_pinned_where_warnings_count() -> None:
    lines = [f"{PLAIN}.COUNTED.name('a').COUNTED.name('b')", "numbers.COUNTED.uid('c')"]
    result = fix(program(*lines), program(*lines), "--fail-on", "warning")
    assert result.exit_code == 0, result.output
    (line,) = changed_lines(program(*lines), Path("new.py").read_text(encoding="utf-8"))
    assert [line.count(f".{name}(") for name in ("uid", "set_uid_hash")] == [2, 2]
    assert "CMP104" not in result.output


SHARED = spelled("def counted(stream, identity, L, Count):\n    return stream.COUNTED.name('c')\n")


def test_an_imported_module_is_edited_but_not_one_that_old_uses_too() -> None:
    old = "from parts import counted\n" + program(f"counted({PLAIN}, identity, L, Count)")
    new = "from parts import counted\n" + program(f"counted({INSERTED}, identity, L, Count)")
    Path("parts.py").write_text(SHARED)
    result = fix(old, new)
    assert result.exit_code == 1, result.output
    assert "parts.py is part of OLD too" in result.output
    assert Path("parts.py").read_text() == SHARED
    Path("new_parts.py").write_text(SHARED)
    result = fix(old, new.replace("from parts", "from new_parts"))
    assert result.exit_code == 0, result.output
    assert ".set_uid_hash(" in Path("new_parts.py").read_text()
    assert Path("new.py").read_text() == new.replace("from parts", "from new_parts")


def test_edits_that_do_not_help_are_taken_back() -> None:
    """The class wraps the method: the call that the stack shows does not give a stream."""
    wrapped = "class W:\n    def __init__(self, s): self.s = s.process(Count(), L).name('c') and None\n"
    old = program(*wrapped.splitlines(), f"W({PLAIN}.key_by(identity, L))")
    new = program(
        *wrapped.splitlines(), f"list(map({INSERTED}.key_by(identity, L).process, [Count()], [L]))[0].name('c')"
    )
    result = fix(old, new)
    assert result.exit_code == 1, result.output
    assert "These edits did not make it better, and were taken back." in result.output
    assert Path("new.py").read_text(encoding="utf-8") == new


@pytest.mark.parametrize(
    ("new", "reason"),
    [("git:HEAD:new.py", "is a file at a revision"), ("plan.json", "is a plan, not the job's source")],
)
def test_what_is_no_source_in_the_working_tree_is_never_written(new: str, reason: str) -> None:
    Path("old.py").write_text(program())
    CliRunner().invoke(main, ["plan", "old.py", "-o", "plan.json"])
    before = Path("plan.json").read_bytes()
    result = CliRunner().invoke(main, ["check", "old.py", new, "--fix"])
    assert result.exit_code == 2
    assert reason in result.output
    assert Path("plan.json").read_bytes() == before


def test_the_report_for_programs_stays_alone_on_stdout() -> None:
    result = fix(
        program(f"{PLAIN}.COUNTED.name('c')"),
        program(f"{INSERTED}.COUNTED.name('c')"),
        "--output",
        "json",
    )
    assert json.loads(result.stdout)["verdict"] == "compatible"
    assert result.stderr.startswith("--- new.py")


def test_without_the_library_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("libcst", "compat.fix"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "libcst", None)
    result = fix(program(), program())
    assert result.exit_code == 2
    assert "pip install libcst" in result.output


TOPOLOGY = {
    "one line an entry": (
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "k", "kind": "key_by", "inputs": ["s"]},\n'
        '  {"id": "c", "kind": "keyed_process", "name": "count", "inputs": ["k"]}\n]}\n',
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "r", "kind": "rebalance", "inputs": ["s"]},\n'
        '  {"id": "f", "kind": "filter", "inputs": ["r"]},\n  {"id": "k", "kind": "key_by", "inputs": ["f"]},\n'
        '  {"id": "c", "kind": "keyed_process", "name": "count", "inputs": ["k"]}\n]}\n',
        ['{"id": "f", "uid": "filter", ', '{"id": "c", "uidHash": "'],
    ),
    "all on one line": (
        '{"env":{"maxParallelism":64},"ops":[{"id":"é","kind":"source","uid":"s"},{"id":"k","kind":"key_by","inputs":["é"]},'
        '{"kind":"keyed_process","uid":"c","inputs":["k"],"id":"c"}]}',
        '{"env":{"maxParallelism":128},"ops":[{"id":"é","kind":"source","uid":"s"},{"id":"k","kind":"key_by","inputs":["é"]},'
        '{"kind":"keyed_process","inputs":["k"],"id":"c"}]}',
        ['{"env":{"maxParallelism":64},'],
    ),
    "a user hash, and a uid where the own id has another max parallelism": (
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "f", "kind": "flat_map", "inputs": ["s"]},\n'
        '  {"id": "k", "kind": "key_by", "inputs": ["s"]},\n'
        '  {"id": "c", "kind": "keyed_process", "name": "count", "maxParallelism": 32, "inputs": ["k"]}\n]}\n',
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "k", "kind": "key_by", "inputs": ["s"]},\n'
        '  {"id": "c", "kind": "keyed_process", "name": "count", "maxParallelism": 32, "inputs": ["k"]},\n'
        '  {"id": "f", "kind": "flat_map", "inputs": ["s"]}\n]}\n',
        ['{"id": "c", "uid": "count", "uidHash": "', '{"id": "f", "uid": "flat-map", '],
    ),
    "a uid where the chain needs another max parallelism": (
        '{"env": {"maxParallelism": 64}, "ops": [\n  {"id": "s", "kind": "source", "maxParallelism": 32},\n'
        '  {"id": "f", "kind": "flat_map", "inputs": ["s"]},\n  {"id": "r", "kind": "rebalance", "inputs": ["s"]},\n'
        '  {"id": "g", "kind": "flat_map", "inputs": ["r"]},\n  {"id": "h", "kind": "flat_map", "inputs": ["s"]}\n]}\n',
        '{"env": {"maxParallelism": 64}, "ops": [\n  {"id": "s", "kind": "source", "maxParallelism": 32},\n'
        '  {"id": "r", "kind": "rebalance", "inputs": ["s"]},\n  {"id": "g", "kind": "flat_map", "inputs": ["r"]},\n'
        '  {"id": "f", "kind": "flat_map", "inputs": ["s"]},\n  {"id": "h", "kind": "flat_map", "inputs": ["s"]}\n]}\n',
        ['{"env": {"maxParallelism": 32}, ', '{"id": "f", "uid": "flat-map", '],
    ),
    "a uid for an operator with a user hash": (
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "f", "kind": "flat_map", "uid": "f", "inputs": ["s"]'
        '},\n  {"id": "k", "kind": "key_by", "inputs": ["f"]},\n'
        '  {"id": "c", "kind": "keyed_process", "uid": "c", "maxParallelism": 32, "inputs": ["k"]}\n]}\n',
        '{"ops": [\n  {"id": "s", "kind": "source", "uid": "s"},\n  {"id": "k", "kind": "key_by", "inputs": ["s"]},\n'
        '  {"id": "c", "kind": "keyed_process", "uid": "f", "uidHash": "d7741f4a6cdf388e747557749a0f0d21", '
        '"maxParallelism": 32, "inputs": ["k"]}\n]}\n',
        ['{"id": "c", "kind": "keyed_process", "uid": "keyedprocess", '],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), TOPOLOGY.values(), ids=TOPOLOGY)
def test_topology_files(old: str, new: str, expected: list[str]) -> None:
    Path("old.json").write_text(old, encoding="utf-8")
    Path("new.json").write_text(new, encoding="utf-8")
    assert CliRunner().invoke(main, ["check", "old.json", "new.json"]).exit_code == 1
    result = CliRunner().invoke(main, ["check", "old.json", "new.json", "--fix"])
    assert result.exit_code == 0, result.output
    after = Path("new.json").read_text(encoding="utf-8")
    lines = changed_lines(new, after)
    assert len(lines) == len(expected)
    assert all(line.startswith(part) for line, part in zip(lines, expected, strict=True))
    assert [entry["id"] for entry in json.loads(after)["ops"]] == [entry["id"] for entry in json.loads(new)["ops"]]
