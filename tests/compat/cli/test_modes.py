"""Options of ``compat check`` that would have no effect: each is refused, with what to do instead."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.cli.check import check
from compat.cli.modes import REFUSED, Mode
from compat.comparison import Comparison, Outcomes
from compat.loader.jvm.warm import WarmJvms
from tests.compat.fix.programs import program
from tests.compat.savepoint.conftest import saved
from tests.repositories import committed

COUNTED = program("numbers.COUNTED.uid('c')")
SNAPSHOT = "small_uid_p2_canonical"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPAT_SERVER", raising=False)
    Path("old.py").write_text(COUNTED)
    Path("new.py").write_text(COUNTED)
    Path("pairs.jsonl").write_text('{"old": "old.py", "new": "new.py"}\n')
    Path("all").mkdir()


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], env=environment)


def words(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


CALLS = {
    Mode.COMPARE: ["old.py", "new.py"],
    Mode.AGAINST: ["--against", "HEAD", "new.py"],
    Mode.SAVEPOINTS: ["--savepoints", "all", "new.py"],
    Mode.PAIRS: ["--pairs", "pairs.jsonl"],
    Mode.SERVER: ["--server", "http://127.0.0.1:9", "--job", "words", "new.py"],
}
VALUES = {
    "also": "old.py",
    "author": "me",
    "write-recipe": "recipe.yaml",
    "commit": "abc",
    "names": "old.py",
    "old-args": "x",
    "old-classpath": "all",
    "old-connector": "kafka",
    "old-env": "A=b",
    "old-flink": "1.20",
    "old-flink-home": "all",
    "old-flink-version": "1.20.0",
    "old-main-class": "Job",
    "old-pyfiles": "all",
    "old-pyflink": "python3.11",
    "old-runtime-properties": "given.json",
    "output": "json",
    "flink-ca": "new.py",
    "flink-cert": "new.py",
    "flink-headers": "new.py",
    "format": "json",
    "take-savepoint": "all",
    "token-file": "new.py",
    "skip": "old.py",
    "rehearse-limit": "1GB",
}

COMMON = {
    "allow_non_restored_state", "outputs", "form", "verbose", "color", "fail_on", "allow_unknown", "baseline", "explain",
    "args", "new_args", "job", "job_number", "definitions", "flink", "timeout", "no_open", "classpath", "connector",
    "flink_home", "flink_version", "main_class", "runtime_properties", "pyflink", "exact", "env", "pyfiles", "strict_imports",
    "deployment", "old_deployment",
}  # fmt: skip
REHEARSAL = {"rehearse", "limit"}
OF_OLD = {
    "old_args",
    "old_flink",
    "old_classpath",
    "old_connector",
    "old_env",
    "old_flink_home",
    "old_flink_version",
    "old_main_class",
    "old_runtime_properties",
    "old_pyfiles",
    "old_pyflink",
}
EFFECTIVE = {
    Mode.COMPARE: COMMON
    | {"write_baseline", "write_recipe", "others", "rollback", "fix", "diff", "dry_run", "names", *REHEARSAL}
    | {"take_savepoint", "flink_headers", "flink_ca", "flink_cert"}
    | {"changed"}  # it says what files are held against, where nothing else does
    | OF_OLD,
    Mode.AGAINST: COMMON | {"write_baseline", "rollback", "changed", "skips"} | OF_OLD,
    Mode.SAVEPOINTS: COMMON | {"write_baseline", "names", "old_flink", *REHEARSAL},
    Mode.PAIRS: (COMMON | {"names"} | OF_OLD) - {"outputs", "form"},
    Mode.SERVER: COMMON | {"fix", "diff", "token_file", "commit", "author"},
}


@pytest.mark.parametrize("mode", Mode)
def test_every_option_has_an_effect_or_is_refused(mode: Mode) -> None:
    modes = {one.value for one in Mode}
    options = {
        one.name
        for one in check.params
        if isinstance(one, click.Option) and one.name not in modes and one.name not in ("help", "help_all")
    }
    assert EFFECTIVE[mode] | REFUSED[mode].keys() == options
    assert not EFFECTIVE[mode] & REFUSED[mode].keys()


def spelled(name: str) -> str:
    (parameter,) = (one for one in check.params if one.name == name)
    return next(option for option in parameter.opts if option.startswith("--"))


@pytest.mark.parametrize(
    ("mode", "name"), [pytest.param(mode, name, id=f"{mode.name}-{name}") for mode in Mode for name in REFUSED[mode]]
)
def test_an_option_without_effect_is_refused_with_what_to_do(mode: Mode, name: str) -> None:
    flag = spelled(name)
    given = [flag, VALUES[flag[2:]]] if flag[2:] in VALUES else [flag]
    result = run(*CALLS[mode], *given)
    assert result.exit_code == 2, result.output
    assert f"{flag} has no effect with " in words(result)
    assert REFUSED[mode][name] in words(result)


PAIRED = [
    (["--write-baseline", "--baseline", "b.json", "--output", "json"], "--output has no effect with --write-baseline"),
    (["--write-baseline", "--baseline", "b.json", "--fail-on", "error"], "--fail-on has no effect with"),
    (["--write-baseline", "--baseline", "b.json", "--allow-unknown"], "--allow-unknown has no effect with"),
    (["--write-baseline", "--baseline", "b.json", "--explain"], "--explain has no effect with"),
    (["--write-baseline", "--baseline", "b.json", "--dry-run"], "--try-restore has no effect with"),
    (["--write-baseline"], "--write-baseline needs --baseline FILE"),
    (["--dry-run", "--rollback"], "--rollback has no effect with --try-restore"),
    (["--explain", "--output", "sarif"], "--explain has no effect with --output sarif: add --output json or"),
    (["--dry-run", "--rehearse"], "--rehearse has no effect with --try-restore"),
    (["--rehearse", "--rollback"], "--rollback has no effect with --rehearse"),
    (["--write-baseline", "--baseline", "b.json", "--format", "json"], "--format has no effect with --write-baseline"),
    (["--diff"], "--diff has no effect here: it says that --fix only shows its edits, so add that"),
    (["--format", "json=x.json"], "is not a format; to write to a file, use --output FORMAT=PATH"),
    (["--limit", "1GB"], "--rehearse-limit has no effect here: it says how much --rehearse restores, so add that"),
    (["--rehearse"], "--rehearse restores a savepoint or checkpoint of Flink, and old.py is a program"),
    (["--rehearse", "--limit", "much"], "'much' is neither a size such as 1GB nor a number of entries"),
    (["--rehearse", "--limit", "0"], "'0' is neither a size such as 1GB"),
    (["--rehearse", "--limit", "1.5"], "'1.5' is neither a size such as 1GB"),
    (["--names", "old.py"], "--names has no effect here: it gives names to a savepoint"),
]


@pytest.mark.parametrize(("options", "reason"), PAIRED, ids=[" ".join(options) for options, _ in PAIRED])
def test_options_that_do_not_go_together(options: list[str], reason: str) -> None:
    result = run("old.py", "new.py", *options)
    assert result.exit_code == 2, result.output
    assert reason in words(result)
    assert not Path("b.json").exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [(one, other) for one in Mode for other in Mode if one.value and other.value and one.value < other.value],
)
def test_there_is_one_way_to_say_what_to_compare(one: Mode, other: Mode) -> None:
    result = run(*CALLS[one][:2], *CALLS[other][:2], "new.py")
    assert result.exit_code == 2
    assert "both say what to compare: use one of them" in words(result)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--pairs", "pairs.jsonl", "old.py", "new.py"], "so old.py has no effect"),
        (["--savepoints", "all"], "--savepoints checks one NEW, and here are 0"),
        (["--savepoints", "all", "new.py", "old.py"], "--savepoints checks one NEW, and here are 2"),
        (
            ["--server", "http://127.0.0.1:9", "--job", "w", "old.py", "new.py"],
            "--server checks one NEW, and here are 2",
        ),
        (["old.py"], "Two programs are needed"),
        (["old.py", "new.py", "--job", "99999999999"], "a program submits at most 99999 jobs"),
    ],
)
def test_the_number_of_programs(arguments: list[str], reason: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert reason in words(result)


def test_a_server_of_the_environment_does_not_change_what_is_asked_for() -> None:
    assert run("old.py", "new.py", COMPAT_SERVER="http://127.0.0.1:9").exit_code == 0
    assert run("--pairs", "pairs.jsonl", COMPAT_SERVER="http://127.0.0.1:9").exit_code == 0
    alone = run("new.py", COMPAT_SERVER="http://127.0.0.1:9")
    assert (alone.exit_code, "--job NAME" in alone.output) == (2, True)


def test_what_is_only_for_programs_is_refused_for_plans() -> None:
    assert CliRunner().invoke(main, ["plan", "old.py", "-o", "old.json"]).exit_code == 0
    assert "no program is started for old.json" in words(run("old.json", "new.py", "--old-args", "x"))
    assert "no program is started for old.json" in words(run("new.py", "old.json", "--new-args", "x"))
    assert "-D has no effect here" in words(run("old.json", "old.json", "-D", "parallelism.default=3"))
    assert run("old.json", "new.py", "-D", "parallelism.default=3", "--new-args", "x").exit_code == 0
    assert run("old.json", "old.json", "--timeout", "9", "--no-open").exit_code == 0


def test_a_baseline_is_written_from_files_at_a_revision() -> None:
    committed()
    Path("new.py").write_text(program("numbers.COUNTED.uid('other')"))
    assert run("--against", "HEAD", "new.py").exit_code == 1
    written = run("--against", "HEAD", "new.py", "--write-baseline", "--baseline", "b.json")
    assert (written.exit_code, "written to b.json" in written.output) == (0, True)
    assert run("--against", "HEAD", "new.py", "--baseline", "b.json").exit_code == 0


def test_a_story_of_every_savepoint_and_of_every_pair() -> None:
    case = saved(SNAPSHOT)
    Path("new.py").write_text(case["program"])
    result = run("--savepoints", str(case["path"]), "new.py", "--explain", "--output", "json")
    assert json.loads(result.stdout)["story"]
    pairs = run("--pairs", "pairs.jsonl", "--explain")
    assert all(json.loads(line)["story"] for line in pairs.stdout.splitlines())


def test_a_pair_that_fails_is_a_record_and_the_others_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("compat.cli.check")
    compared = module.compare

    def fails_once(comparison: Comparison, jvms: WarmJvms) -> Outcomes:
        monkeypatch.setattr(module, "compare", compared)
        raise ValueError("write to closed file")

    line = Path("pairs.jsonl").read_text().splitlines()[0]
    Path("two.jsonl").write_text(f"{line}\n{line}\n")
    monkeypatch.setattr(module, "compare", fails_once)
    first, second = (json.loads(one) for one in run("--pairs", "two.jsonl").stdout.splitlines())
    assert [one["rule"] for one in first["failures"]] == ["CMP906"]
    assert "write to closed file" in first["failures"][0]["message"]
    assert second["verdict"] == "compatible"


BAD_FILES = {
    "no baseline": (["old.py", "new.py", "--baseline", "none.json"], "none.json: no such baseline"),
    "another file as baseline": (["old.py", "new.py", "--baseline", "old.py"], "old.py:1: not a baseline"),
    "a baseline that cannot be written": (
        ["old.py", "new.py", "--baseline", "none/b.json", "--write-baseline"],
        "none/b.json: cannot be written",
    ),
    "a report that cannot be written": (
        ["old.py", "new.py", "--output", "json=none/r.json", "--output", "concise=r.txt"],
        "none/r.json: the report cannot be written",
    ),
    "pairs that are no text": (["--pairs", "bytes.jsonl"], "bytes.jsonl:1: a line is"),
    "a pair of one": (["--pairs", "one.jsonl"], "one.jsonl:1: a line is"),
}


@pytest.mark.parametrize(("arguments", "reason"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_good_is_no_finding(arguments: list[str], reason: str) -> None:
    """Findings have exit code 1: what could not be read or written must not look like them."""
    Path("bytes.jsonl").write_bytes(b"\xff\n")
    Path("one.jsonl").write_text('{"old": "old.py"}\n')
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert reason in words(result)
    assert Path("r.txt").exists() == ("concise=r.txt" in arguments)
