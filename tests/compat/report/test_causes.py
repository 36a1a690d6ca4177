"""Findings of one cause are one for a person, who reads whom it concerns and what to do, and stay apart everywhere else."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.check.findings import Fix
from compat.cli import main
from compat.report.frames import Addition
from compat.report.summary import by_place
from compat.state.model.source_line import SourceLine
from tests.compat import builders
from tests.compat.fix.programs import INSERTED, program

COUNTERS = ("counts = stream.COUNTED.name('a').COUNTED.name('b').COUNTED.name('c')", "counts.COUNTED.name('d').print()")
OLD = program("stream = numbers.map(identity, L)", *COUNTERS)
MOVED = program(f"stream = {INSERTED}", *COUNTERS)
WIDE = program("env.set_parallelism(200)", "stream = numbers.map(identity, L)", *COUNTERS)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checked(new: str, *options: str, old: str = OLD) -> Result:
    Path("old.py").write_text(old, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    return CliRunner().invoke(main, ["check", "old.py", "new.py", *options])


def test_one_parallelism_for_all_is_one_finding_with_one_edit() -> None:
    lines = checked(WIDE).stdout.splitlines()
    assert [line.split(": ")[0] for line in lines if line.startswith("error")] == ["error CMP302 parallelism-above-max"]
    assert [line for line in lines if "env.set_parallelism(128)" in line] == ["    + env.set_parallelism(128)"]
    assert lines[-3].startswith("1 error, ")
    assert "Make the edits" in " ".join(lines[-4:-1])
    assert lines[-1] == "Next: compat rule CMP302"
    repaired = checked(WIDE.replace("env.set_parallelism(200)", "env.set_parallelism(128)"))
    assert repaired.stdout.startswith("COMPATIBLE")


def test_a_parallelism_of_its_own_is_a_finding_of_its_own() -> None:
    both = WIDE.replace(".name('b')", ".name('b').set_parallelism(300)")
    lines = [line for line in checked(both).stdout.splitlines() if line.startswith("error")]
    assert len(lines) == 2
    assert "runs with parallelism 300" in checked(both, "--output", "concise").stdout


def test_ids_that_moved_for_one_reason_are_one_finding_with_all_edits() -> None:
    lines = checked(MOVED, "--output", "concise").stdout.splitlines()
    (moved,) = [line for line in lines if "CMP102" in line]
    assert "4 operators have other ids; it began at 'a" in moved
    assert checked(MOVED).stdout.count(".set_uid_hash(") == 4


def test_an_explanation_has_each_by_itself() -> None:
    told = checked(MOVED, "--explain").stdout.splitlines()
    assert sum(line.startswith("error CMP102") for line in told) == 4


def test_machines_read_each_with_its_own_fingerprint() -> None:
    findings = [
        one for one in json.loads(checked(MOVED, "--output", "json").stdout)["findings"] if one["level"] == "error"
    ]
    assert len({one["fingerprint"] for one in findings}) == 4
    assert len({one["cause"] for one in findings}) == 1


def test_what_lets_one_pass_lets_no_other_pass() -> None:
    ignored = checked(
        MOVED.replace(".name('d').print()", ".name('d').print()  # compat: ignore[CMP102] may start anew")
    )
    (line,) = [line for line in ignored.stdout.splitlines() if line.startswith("error")]
    assert "3 operators have other ids" in line
    assert ignored.exit_code == 1


def chain(*names: str, start: str = "numbers.rebalance()", each: str = "") -> str:
    """Counters in a row, one a line."""
    lines = [f"stream = {start}", *(f"stream = stream.rebalance().COUNTED{each}.name('{name}')" for name in names)]
    return program(*lines, "stream.print()")


def branches(*names: str, each: str = "") -> str:
    """Counters side by side, one a line."""
    return program(*(f"numbers.rebalance().COUNTED{each}.name('{name}')" for name in names))


def with_edits(source: str, told: str) -> str:
    """NEW after exactly the edits that are shown together: rows with calls in them, calls below, settings in place."""
    lines, number = source.splitlines(), 0
    for line in told.partition("\nAdd to ")[2].splitlines():
        if shown := re.match(r" +(\d+) \| (.*)", line):
            number, lines[int(shown[1]) - 1] = int(shown[1]), shown[2]
        elif added := re.match(r" +\+ \| +(\.[^#]*)", line):
            lines[number - 1] += added[1].rstrip()
        elif setting := re.match(r" +\+ (env\.\S+)", line):
            lines = [setting[1] if one.startswith(setting[1].partition("(")[0]) else one for one in lines]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(chain("a", "b"), chain("x", "a", "b"), id="one in front takes the ids of all behind it"),
        pytest.param(chain(*"abcd"), chain("a", "x", *"bcd"), id="one between others"),
        pytest.param(chain(*"abc"), chain("x", "y", *"abc"), id="two in front"),
        pytest.param(chain("a", "b"), chain("b", "a"), id="a row in another order"),
        pytest.param(branches("a", "b", "c"), branches("b", "c", "a"), id="branches in another order"),
        pytest.param(branches("a", "b"), branches("x", "b", "a"), id="a branch more, and another order"),
        pytest.param(
            chain("a", "b"), chain("a", "b", start="numbers.rebalance().filter(bool)"), id="a filter in front"
        ),
        pytest.param(
            chain("a", "b"),
            chain("a", "b", start="numbers.rebalance().filter(bool)").replace(
                "stream =", "env.set_max_parallelism(64)\nstream =", 1
            ),
            id="ids moved and another max parallelism",
        ),
        pytest.param(
            chain("a", "b"),
            chain("x", "a", "b").replace("stream =", "env.set_max_parallelism(64)\nstream =", 1),
            id="state in wrong hands and another max parallelism",
        ),
        pytest.param(chain("a"), chain("x", "a", each=".set_max_parallelism(32)"), id="a max parallelism of their own"),
        pytest.param(
            chain("a", "b"),
            chain("x", "a", "b").replace("stream =", "env.set_parallelism(300)\nstream =", 1),
            id="state in wrong hands and more subtasks than key groups",
        ),
    ],
)
def test_the_edits_that_are_shown_are_all_that_it_takes(old: str, new: str) -> None:
    Path("old.py").write_text(old, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    told = CliRunner().invoke(main, ["check", "old.py", "new.py"])
    assert told.exit_code == 1
    Path("new.py").write_text(with_edits(new, told.stdout), encoding="utf-8")
    repaired = CliRunner().invoke(main, ["check", "old.py", "new.py"])
    assert repaired.exit_code == 0, (told.stdout, repaired.stdout)


def test_state_that_goes_from_one_to_the_next_is_one_finding() -> None:
    Path("old.py").write_text(chain("a", "b", "c"), encoding="utf-8")
    Path("new.py").write_text(chain("x", "a", "b", "c"), encoding="utf-8")
    lines = CliRunner().invoke(main, ["check", "old.py", "new.py", "--output", "concise"]).stdout.splitlines()
    (wrong,) = [line for line in lines if "CMP103" in line]
    assert wrong.endswith("3 operators hand their state to one another: 'a' to 'x', 'b' to 'a', 'c' to 'b'")


def test_of_operators_behind_one_that_is_gone_each_has_its_successor_by_name() -> None:
    Path("old.py").write_text(chain("x", "a", "b", "c"), encoding="utf-8")
    Path("new.py").write_text(chain("a", "b", "c"), encoding="utf-8")
    told = CliRunner().invoke(main, ["check", "old.py", "new.py", "--output", "json"]).stdout
    moved = [one for one in json.loads(told)["findings"] if one["rule"] == "CMP102"]
    assert moved
    assert all(one["old"]["name"] == one["new"]["name"] for one in moved)


def test_what_no_call_repairs_is_told_in_words() -> None:
    Path("old.py").write_text(chain("a", each=".uid('a')"), encoding="utf-8")
    changed = chain("a", each=".uid('a')").replace('"count", L', '"count", Types.STRING()')
    Path("new.py").write_text(changed.replace("key_by(identity, L)", "key_by(str, Types.STRING())"), encoding="utf-8")
    step = " ".join(CliRunner().invoke(main, ["check", "old.py", "new.py"]).stdout.split())
    assert "Fix: Keep the type Long" in step
    assert "Fix: Keep the key type" in step


def test_what_is_added_to_one_line_is_what_fix_writes() -> None:
    shown = with_edits(MOVED, checked(MOVED).stdout)
    assert shown.count(".set_uid_hash(") == 4
    checked(MOVED, "--fix")
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(Path("new.py").read_text(encoding="utf-8")))


def test_a_line_that_makes_several_operators_says_which_calls_they_need() -> None:
    loop = ("for name in 'ab':", "    numbers%s.COUNTED.print()")
    told = checked(
        program(loop[0], loop[1] % ".rebalance().filter(bool).rebalance()"), old=program(loop[0], loop[1] % "")
    ).stdout
    assert re.search(r"\+ \|     # '[^']+': \.set_uid_hash\(", told)


def test_the_page_has_one_finding_for_one_cause() -> None:
    checked(MOVED, "--output", "html=report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.count('<article class="finding error"') == 1
    assert "4 operators have other ids" in page
    assert page.count('data-go="new:') >= 4


@pytest.mark.parametrize(("file", "shown"), [("Job.java", "// 'a': .uid('a')"), ("job.py", "# 'a': .uid('a')")])
def test_whose_an_edit_is_stands_in_a_comment_of_the_language(file: str, shown: str) -> None:
    line = SourceLine(file, 7)
    first, second = builders.operator("a", at=line), builders.operator("b", at=line)
    fix = Fix(text="", call=".uid('a')", at=line, operator_id=first.id)
    assert by_place([fix], builders.program("new", first, second)) == [[Addition(line, (shown,), shared=True)]]


def test_an_operator_that_pyflink_puts_in_makes_no_line_shared() -> None:
    line = SourceLine("job.py", 7, (7, 20))
    first, second = builders.operator("a", at=line), builders.operator("_stream_key_by_map_operator", at=line)
    fix = Fix(text="", call=".uid('a')", at=line, operator_id=first.id)
    assert by_place([fix], builders.program("new", first, second)) == [[Addition(line, (".uid('a')",))]]
