"""What the commands say of the shipped examples."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from tests.compat.fix.programs import INSERTED, program

EXAMPLES = Path(__file__).parents[3] / "compat" / "examples"
OLD, NEW = str(EXAMPLES / "word_count" / "v1.py"), str(EXAMPLES / "word_count" / "v2.py")
PLAIN = "numbers.map(identity, L)"


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_the_main_job_says_that_the_state_goes_to_another_operator():
    result = run("check", OLD, NEW)
    assert result.exit_code == 1
    assert result.output.startswith("INCOMPATIBLE")
    assert "CMP103" in result.output


def test_a_check_of_programs_in_python_imports_nothing_heavy():
    code = (
        "import sys\nfrom compat.cli import main\n"
        f"try: main(['check', {OLD!r}, {NEW!r}, '--output', 'json=/dev/null'])\nexcept SystemExit: pass\n"
        "heavy = {'jpype', 'pyspark', 'pandas', 'pyarrow', 'deltalake', 'deepdiff', 'compat.loader.jvm.process'}\n"
        "heavy |= {'compat.check.serializers', 'compat.plan.recorded_states', 'compat.state.flink.snapshots'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_a_program_is_compatible_with_itself_and_with_its_snapshot(tmp_path):
    snapshot = str(tmp_path / "job.plan.json")
    assert run("plan", OLD, "-o", snapshot).exit_code == 0
    assert run("check", OLD, OLD).exit_code == 0
    assert run("check", snapshot, OLD).exit_code == 0
    assert run("check", snapshot, NEW).exit_code == 1


@pytest.mark.parametrize("example", ["word_count", "window_word_count"])
def test_the_edits_that_are_shown_are_all_that_is_needed(example, tmp_path):
    old, new = EXAMPLES / example / "v1.py", tmp_path / "v2.py"
    lines = (EXAMPLES / example / "v2.py").read_text(encoding="utf-8").splitlines()
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    number = 0
    for line in run("check", str(old), str(new)).output.splitlines():
        if shown := re.match(r" +(\d+) \| *(\S.*)", line):
            number = int(shown[1])
            indent = re.match(" *", lines[number - 1])[0]
            lines[number - 1] = indent + shown[2]
        elif added := re.match(r" +\+ \| *(\S.*)", line):
            lines[number - 1] += f"\n{indent}{added[1]}"
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = run("check", str(old), str(new))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("COMPATIBLE")


def test_the_first_check_of_the_readme_is_short_and_what_follows_works_when_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, new = Path("word count.py"), Path("my job.py")
    for path, source in ((old, OLD), (new, NEW)):
        path.write_text(Path(source).read_text(encoding="utf-8"), encoding="utf-8")
    lines = run("check", str(old), str(new)).output.splitlines()
    assert len(lines) <= 25
    assert lines[-1].startswith("Next: compat check ")
    beside = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", lines[-1].removeprefix("Next: ")], capture_output=True, text=True, env=beside, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "COMPATIBLE" in done.stdout
    assert ".set_uid_hash(" in new.read_text(encoding="utf-8")


def test_one_warning_takes_few_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("v1.py").write_text(program(f"{PLAIN}.COUNTED.uid('a').print()"), encoding="utf-8")
    Path("v2.py").write_text(program(f"{PLAIN}.COUNTED.uid('a').COUNTED.uid('b').name('b').print()"), encoding="utf-8")
    lines = run("check", "v1.py", "v2.py").output.splitlines()
    assert lines[0].startswith("COMPATIBLE")
    assert len([line for line in lines if line.startswith("warning")]) == 1
    assert len(lines) <= 7
    assert lines[-2:] == [
        'Next: flink run -s "$SAVEPOINT" -py v2.py',
        '  or: compat job run v2.py -s "$SAVEPOINT"',
    ]


def test_explain_tells_where_it_began():
    result = run("explain", OLD, NEW, "count words")
    assert result.exit_code == 0
    assert "->" in result.output


@pytest.mark.parametrize("name", ["count words", "Count-Words", "COUNT", "words"])
def test_explain_matches_names_loosely(name):
    result = run("explain", OLD, NEW, name)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("'count words': ")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("cuont wrods", "has no operator 'cuont wrods'. Did you mean 'count words'?"),
        ("s", "has several operators like 's': "),
        ("zzz", "has no operator 'zzz'. It has: 'Source: numbers', "),
        ("", "has no operator ''. It has: "),
    ],
)
def test_explain_names_the_nearest(name, answer):
    result = run("explain", OLD, NEW, name)
    assert result.exit_code == 2
    assert answer in " ".join(result.output.replace("│", " ").split())


def test_explain_knows_an_operator_by_its_own_name_when_others_were_merged_into_it(tmp_path):
    for name, before in (("old.py", PLAIN), ("new.py", INSERTED)):
        text = program(f"{before}.COUNTED.name('kept').map(identity, L).print()")
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = run("explain", str(tmp_path / "old.py"), str(tmp_path / "new.py"), "kept")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("'kept, Map': ")
    unknown = run("explain", str(tmp_path / "old.py"), str(tmp_path / "new.py"), "none")
    assert unknown.exit_code == 2
    assert "'kept, Map'" in unknown.output


def test_rules_schema_and_help_work():
    assert "CMP101" in run("rules").output
    assert run("rule", "CMP101").exit_code == 0
    assert json.loads(run("schema", "report").output)
    assert "Examples:" in run("--help").output


def test_lines_of_topologies_give_lines_of_plans(tmp_path):
    path = tmp_path / "cases.jsonl"
    good = {"ops": [{"id": "a", "kind": "source"}, {"id": "b", "kind": "print", "inputs": ["a"]}]}
    path.write_text(f"{json.dumps({'spec': good})}\n{{broken\n{json.dumps(good)}\n", encoding="utf-8")
    result = run("plan", str(path), "--format", "json")
    plans = [json.loads(line) for line in result.output.splitlines()]
    assert [plan["error"] is None for plan in plans] == [True, False, True]
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("job", "code", "rules"),
    [
        ("word_count", 1, {"CMP103"}),
        ("window_word_count", 1, {"CMP102"}),
        ("fraud_detection", 1, {"CMP401", "CMP404"}),
        ("enrichment", 1, {"CMP404", "CMP406"}),
        ("sessions", 0, {"CMP407", "CMP110"}),
    ],
)
def test_what_the_check_says_of_each_example(job, code, rules):
    old, new = str(EXAMPLES / job / "v1.py"), str(EXAMPLES / job / "v2.py")
    assert run("check", old, old).exit_code == 0
    result = run("check", old, new, "--output", "json")
    assert result.exit_code == code
    found = {finding["rule"] for finding in json.loads(result.output)["findings"] if finding["level"] != "note"}
    assert found >= rules
    text = (Path(__file__).parents[3] / "docs/pages/reference/examples.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(f"| `{job}` |")]
    assert all(rule in row for rule in rules)
    assert ("compatible" in row) == (code == 0)


UNTOLD = """
class Untold(Count):
    def open(self, runtime_context):
        raise OSError("no such model")
"""


@pytest.mark.parametrize("options", [[], ["--fail-on", "warning"]])
def test_what_is_not_known_ends_with_2_whatever_else_is_found(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = program("numbers.key_by(identity, L).process(Untold(), L).uid('c')", "numbers.COUNTED.name('more')")
    Path("old.py").write_text(old.replace("env = ", UNTOLD + "\nenv = ", 1), encoding="utf-8")
    Path("new.py").write_text(Path("old.py").read_text(encoding="utf-8"), encoding="utf-8")
    result = run("check", "old.py", "new.py", *options)
    assert result.output.startswith("UNKNOWN"), result.output
    assert "warning" in result.output
    assert result.exit_code == 2
    assert "accept what is not known with --allow-unknown" in " ".join(result.output.split())
    accepted = run("check", "old.py", "new.py", "--allow-unknown")
    assert accepted.exit_code == 0
    assert "Next: flink run -s " in accepted.output


@pytest.mark.parametrize(
    ("options", "variables", "expected"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_as_asked_for(options, variables, expected, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, ["check", OLD, OLD, *options], color=True)
    assert ("\x1b[" in result.output) == expected


def test_format_is_output(tmp_path):
    result = run("check", OLD, NEW, "--format", "json")
    assert json.loads(result.output)["verdict"] == "incompatible"
    assert json.loads(run("check", OLD, NEW, "--output", "json").output) == json.loads(result.output)
    listed = " ".join(run("check", "--help").output.split())
    assert "text, concise, json, github, sarif, junit, markdown, html" in listed


def test_verbose_tells_the_rest():
    short, verbose = run("check", OLD, NEW).output, run("check", OLD, NEW, "--verbose").output
    assert "State of" not in short
    for part in ("At restore: ", "Why: ", "Becomes", "^^^^"):
        assert part in verbose
    assert verbose.splitlines()[-1] == short.splitlines()[-1]


SAVEPOINT = str(Path(__file__).parents[2] / "golden" / "savepoints_of_pairs" / "uids_added")
"""Of the same shape as the first version of ``word_count``, so that its ids are the same."""


def test_explain_takes_a_savepoint_as_old():
    result = run("explain", SAVEPOINT, NEW, "keyed")
    assert result.exit_code == 0
    assert "has the same id on both sides: 90bea66de1c231edf33913ecd54406c1. NEW calls it 'Filter'." in result.output


def test_explain_knows_the_reason_by_the_program_that_wrote_the_savepoint():
    result = run("explain", SAVEPOINT, NEW, "count words", "--names", OLD)
    assert result.exit_code == 0
    assert "'count words': 90bea66de1c231edf33913ecd54406c1 -> " in result.output
    assert "it moved from place 2 to place 4 of the graph" in result.output


def test_explain_says_what_a_savepoint_does_not_tell(tmp_path):
    job = json.loads(run("plan", NEW, "--format", "json").output)
    for operator in job["operators"]:
        if operator["name"] == "count words":
            operator["name"] = "KEYED PROCESS"
    (tmp_path / "new.json").write_text(json.dumps(job))
    result = run("explain", SAVEPOINT, str(tmp_path / "new.json"), "keyed process")
    assert "a savepoint records no graph that would show why" in result.output


def test_explain_takes_names_for_savepoints_only():
    result = run("explain", OLD, NEW, "count words", "--names", OLD)
    assert result.exit_code == 2
    assert "--names names the operators of a savepoint" in result.output
