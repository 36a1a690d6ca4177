"""``compat migrate``: from the recipe of a check to a savepoint that the new version restores."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.loader.inputs import LoadOptions
from compat.savepoint.names import Names
from compat.state.flink import KeyedFormat, entries, keyed_format, read_draft, read_metadata
from compat.state.flink.remote import read_savepoint
from tests.compat.loader.jvm.support import flink_of, jar_of
from tests.state.flink.test_processes import until

GOLDEN = Path(__file__).parents[2] / "golden"
SAVED = GOLDEN / "savepoints_of_pairs"
PROGRAMS = GOLDEN / "pyflink-2.3" / "programs" / "pairs"
RENAMED = "{step: rename-state, operator: count, state: count, to: total}"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def recipe(folder: Path, *steps: str) -> Path:
    file = folder / "recipe.yaml"
    file.write_text("\n".join(["recipe: 1", "steps:" if steps else "steps: []", *(f"  - {step}" for step in steps)]))
    return file


def migrate(pair: str, folder: Path, *steps: str, options: tuple[str, ...] = ()) -> Result:
    return run(
        *("migrate", SAVED / pair, PROGRAMS / pair / "new.py", folder / "out"),
        *("--recipe", recipe(folder, *steps), *options),
    )


def values(folder: Path) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for entry in entries(read_metadata(folder)):
        if not entry.state.kind.timers:
            found.setdefault(entry.state.declared_name, []).append(entry.value)
    return found


def test_a_state_has_its_values_under_the_name_that_new_asks_for(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path, RENAMED)
    assert result.exit_code == 0, result.output
    out = tmp_path / "out"
    assert result.stdout.splitlines() == [
        f"{out} holds {SAVED / 'state_renamed'} for {PROGRAMS / 'state_renamed' / 'new.py'}:",
        "  'KEYED PROCESS' (b71731f1c0df9c3076c4a455334d0ad6): python-state-count -> python-state-total, 4 entries",
        f"It was read back and checked: {PROGRAMS / 'state_renamed' / 'new.py'} restores all of it.",
        f"Its digest is {read_metadata(out).digest}: that is the state that was checked.",
        f"Next: flink run -s {shlex.quote(str(out))} -py {shlex.quote(str(PROGRAMS / 'state_renamed' / 'new.py'))}",
    ]
    assert values(out)["total"] == values(SAVED / "state_renamed")["count"]
    checked = run("check", out, PROGRAMS / "state_renamed" / "new.py")
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize("pair", ["uids_added", "branches_swapped_no_uid", "operator_inserted_no_uid"])
def test_what_a_check_can_tell_is_a_recipe_without_questions(pair: str, tmp_path: Path) -> None:
    old, new, file = PROGRAMS / pair / "old.py", PROGRAMS / pair / "new.py", tmp_path / "recipe.yaml"
    assert run("check", SAVED / pair, new, "--names", old, "--write-recipe", file).exit_code == 1
    result = run("migrate", SAVED / pair, new, tmp_path / "out", "--recipe", file, "--names", old)
    assert result.exit_code == 0, result.output
    assert values(tmp_path / "out") == values(SAVED / pair)
    assert run("check", tmp_path / "out", new).exit_code == 0


def test_what_a_check_cannot_tell_is_a_question_that_is_refused(tmp_path: Path) -> None:
    new, file = PROGRAMS / "state_renamed" / "new.py", tmp_path / "recipe.yaml"
    checked = run("check", SAVED / "state_renamed", new, "--write-recipe", file)
    assert checked.stderr == f"{file}: 0 steps, 1 open question. Read it before compat migrate.\n"
    result = run("migrate", SAVED / "state_renamed", new, tmp_path / "out", "--recipe", file)
    assert (result.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "count of count: Is it 'total' now, or may it go?" in result.stderr
    answer = file.read_text().partition("steps:\n")[2].partition("  #   - ")[2].partition("  #   - ")[0]
    file.write_text(f"steps:\n  - {answer.replace('  #     ', '    ')}")
    assert run("migrate", SAVED / "state_renamed", new, tmp_path / "out", "--recipe", file).exit_code == 0


def test_a_guess_is_a_question_with_the_step_that_it_would_be(tmp_path: Path) -> None:
    """Without the program that wrote it, a savepoint does not tell which operator went on under another id."""
    file = tmp_path / "recipe.yaml"
    run("check", SAVED / "uids_added", PROGRAMS / "uids_added" / "new.py", "--write-recipe", file)
    asked = file.read_text().partition("  # CMP102: ")[2]
    assert "may be the same operator." in asked
    assert "  #   - step: rename-operator\n  #     operator: KEYED PROCESS\n  #     to: count\n" in asked
    assert "question: Is it 'KEYED PROCESS' (uid 'count') now, or may its state go?" in asked


def test_the_commands_that_reports_tell_lead_to_a_savepoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `Next:` is run as it stands: the check, the check that writes the recipe, the migration."""
    monkeypatch.chdir(tmp_path)
    pair = PROGRAMS / "uids_added"
    told = f"compat check {shlex.quote(str(SAVED / 'uids_added'))} {shlex.quote(str(pair / 'new.py'))}"
    said = run(*shlex.split(f"{told} --names {shlex.quote(str(pair / 'old.py'))} --flink 2.3")[1:]).stdout
    (told,) = (line.partition("  or: ")[2] for line in said.splitlines() if line.startswith("  or: "))
    assert told.endswith(" --flink 2.3 --write-recipe recipe.yaml")
    said = run(*shlex.split(told)[1:]).stdout
    (told,) = (line.partition("  or: ")[2] for line in said.splitlines() if line.startswith("  or: "))
    assert told.endswith(f" migrated --names {shlex.quote(str(pair / 'old.py'))} --recipe recipe.yaml --flink 2.3")
    assert run(*shlex.split(told)[1:]).exit_code == 0
    assert values(tmp_path / "migrated") == values(SAVED / "uids_added")
    said = run("check", SAVED / "uids_added", pair / "new.py").stdout
    assert said.endswith("--write-recipe recipe-2.yaml\n")


def test_the_way_back_is_a_recipe_that_is_carried_out(tmp_path: Path) -> None:
    pair, back = PROGRAMS / "state_renamed", tmp_path / "back.yaml"
    result = migrate(
        "state_renamed", tmp_path, RENAMED, options=("--write-back", str(back), "--names", str(pair / "old.py"))
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{back}: 1 step, 0 open questions. It is the way back to {pair / 'old.py'}.\n")
    asked = run("migrate", tmp_path / "out", pair / "old.py", tmp_path / "back", "--recipe", back)
    assert asked.exit_code == 0, asked.output
    assert values(tmp_path / "back") == values(SAVED / "state_renamed")


def test_no_way_back_is_written_of_what_is_not_made(tmp_path: Path) -> None:
    assert migrate("state_renamed", tmp_path, options=("--write-back", str(tmp_path / "back.yaml"))).exit_code == 1
    assert not (tmp_path / "back.yaml").exists()


def test_a_rollback_tells_whether_a_recipe_takes_state_back() -> None:
    pair = PROGRAMS / "state_renamed"
    told = " ".join(run("check", pair / "old.py", pair / "new.py", "--rollback").stdout.split())
    assert told.count("A recipe may take it back (rename-state).") == 1
    gone = PROGRAMS / "operator_removed"
    told = " ".join(run("check", gone / "new.py", gone / "old.py", "--rollback").stdout.split())
    assert told.count("No recipe takes it back: it can only be dropped.") == 1


def test_the_name_of_a_recipe_is_not_written_over(tmp_path: Path) -> None:
    file = recipe(tmp_path, RENAMED)
    before = file.read_text()
    result = run("check", SAVED / "state_renamed", PROGRAMS / "state_renamed" / "new.py", "--write-recipe", file)
    assert (result.exit_code, file.read_text()) == (2, before)
    assert "File exists" in result.stderr


def test_a_recipe_that_leaves_a_state_behind_writes_nothing(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path)
    assert result.exit_code == 1
    assert "The recipe has no step for the state 'count' of 'KEYED PROCESS': lost." in result.stdout
    assert result.stdout.endswith("Nothing was written. Change the recipe, or NEW.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.yaml"]


def test_a_state_that_is_dropped_by_name_is_no_loss(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path, "{step: drop-state, operator: count, state: count}")
    assert result.exit_code == 0, result.output
    assert "'KEYED PROCESS' (b71731f1c0df9c3076c4a455334d0ad6): python-state-count dropped" in result.stdout
    assert "count" not in values(tmp_path / "out")


def test_an_operator_goes_by_name(tmp_path: Path) -> None:
    result = migrate("operator_removed", tmp_path, "{step: drop-operator, operator: count3}")
    assert result.exit_code == 0, result.output
    assert "dropped" in result.stdout


def test_a_dry_run_does_it_all_and_keeps_nothing(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path, RENAMED, options=("--dry-run",))
    assert result.exit_code == 0
    assert "4 entries" in result.stdout
    assert "Nothing was kept." in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.yaml"]


def test_what_is_to_run_next_has_the_options_that_were_given(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path, RENAMED, options=("-D", "pipeline.name=orders of today"))
    assert result.exit_code == 0, result.output
    assert "-D'pipeline.name=orders of today' -py " in result.stdout.splitlines()[-1]


def test_what_is_let_pass_is_not_called_restored(tmp_path: Path) -> None:
    new = tmp_path / "new.py"
    new.write_text("raise SystemExit('no broker')\n")
    given = ("migrate", SAVED / "state_renamed", new, tmp_path / "out", "--recipe", recipe(tmp_path, RENAMED))
    refused = run(*given)
    assert (refused.exit_code, (tmp_path / "out").exists()) == (2, False)
    result = run(*given, "--allow-unknown")
    assert (result.exit_code, (tmp_path / "out").exists()) == (0, True)
    assert "no broker" in result.stdout
    assert f"Whether {new} restores all of it is not known; --allow-unknown allowed that." in result.stdout
    assert "restores all of it.\n" not in result.stdout


def test_with_copy_it_can_be_moved(tmp_path: Path) -> None:
    assert migrate("state_renamed", tmp_path, RENAMED, options=("--copy",)).exit_code == 0
    before = values(tmp_path / "out")
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    assert values(tmp_path / "elsewhere") == before


def test_a_class_that_no_serializer_names_is_refused(tmp_path: Path) -> None:
    result = migrate("state_renamed", tmp_path, RENAMED, "{step: rename-class, class: acme.Order, to: acme.Sale}")
    assert result.exit_code == 2
    assert "No serializer in the savepoint names the class acme.Order" in result.stderr
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    result = migrate("state_renamed", tmp_path, RENAMED)
    assert (result.exit_code, "something is there already" in result.stderr) == (2, True)


def test_storage_that_nobody_knows_is_told(tmp_path: Path) -> None:
    new = PROGRAMS / "state_renamed" / "new.py"
    result = run("migrate", SAVED / "state_renamed", new, "nosuch://bucket/out", "--recipe", recipe(tmp_path, RENAMED))
    assert (result.exit_code, "Protocol not known: nosuch" in result.stderr) == (2, True)


def test_a_savepoint_that_is_none_is_told(tmp_path: Path) -> None:
    result = run(
        "migrate", tmp_path, PROGRAMS / "state_renamed" / "new.py", tmp_path / "out", "--recipe", recipe(tmp_path)
    )
    assert result.exit_code == 2
    assert result.stderr.startswith("CMP501: ")


def test_the_savepoint_is_as_it_was(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (SAVED / "state_renamed").iterdir()}
    migrate("state_renamed", tmp_path, RENAMED)
    assert {path: path.read_bytes() for path in (SAVED / "state_renamed").iterdir()} == before


CONVERTED = "{step: convert-state, operator: count, state: count}"


def test_values_of_pyflink_become_others_by_the_types_that_both_declare(tmp_path: Path) -> None:
    pair = "state_value_type_changed"
    old, file = PROGRAMS / pair / "old.py", tmp_path / "asked.yaml"
    assert run("check", SAVED / pair, PROGRAMS / pair / "new.py", "--names", old, "--write-recipe", file).exit_code == 1
    assert "  #   - step: convert-state\n  #     operator: count\n  #     state: count\n" in file.read_text()
    result = migrate(pair, tmp_path, CONVERTED, options=("--names", str(old)))
    assert result.exit_code == 0, result.output
    assert "python-state-count converted, 4 entries" in result.stdout
    assert values(SAVED / pair)["count"] == [[(250).to_bytes(8)]] * 4
    assert values(tmp_path / "out")["count"] == [[b"\0\0\0\x03250"]] * 4


@pytest.mark.parametrize(
    ("steps", "options", "told"),
    [
        ((CONVERTED,), (), "name the program that wrote it, with its types (--names OLD.py)"),
        ((CONVERTED, "{step: drop-state, operator: count, state: count}"), (), "another step drops it"),
        ((CONVERTED, CONVERTED), ("--names",), "the recipe has two steps for that"),
        (
            ("{step: convert-state, operator: numbers, state: SourceReaderState}",),
            (),
            "NEW does not tell how it writes 'SourceReaderState'",
        ),
        (
            (CONVERTED, "{step: rename-state, operator: count, state: count, to: gone}"),
            ("--names",),
            "NEW does not declare its type",
        ),
    ],
)
def test_values_that_nobody_tells_how_to_convert(
    steps: tuple[str, ...], options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    pair = "state_value_type_changed"
    given = (*options, str(PROGRAMS / pair / "old.py")) if options else ()
    result = migrate(pair, tmp_path, *steps, options=given)
    assert (result.exit_code, told in result.stderr) == (2, True), result.output


PYFLINK = GOLDEN / "migrations" / "pyflink"


def through(folder: Path, text: str, *more: str) -> Result:
    """Values that were pickled, through a function in a file beside the recipe."""
    pair = PYFLINK / "pickled_list"
    (folder / "beside.py").write_text(text)
    step = "{step: convert-state, operator: keep, state: s, function: beside.py:convert, drops: true}"
    given = ("--recipe", recipe(folder, step), "--names", pair / "old.py", *more)
    return run("migrate", pair / "savepoint", pair / "new.py", folder / "out", *given)


def test_values_of_pyflink_become_others_through_a_function(tmp_path: Path) -> None:
    result = through(tmp_path, "def convert(old): return {'n': old[0], 'text': old[1]} if old[0] % 3 else None\n")
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if "converted" in line]
    assert line.endswith("python-state-s converted, 2 entries, 1 dropped")


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        (
            "def convert(old): return old['n']\n",
            (),
            "beside.py:convert: it fails for (3, '3'): TypeError: tuple indices must",
        ),
        (
            "import time\ndef convert(old): time.sleep(60)\n",
            ("--timeout", "2"),
            "it takes longer than 2 s ",
        ),
        ("def other(old): return old\n", (), "beside.py has no function convert; it has other"),
    ],
)
def test_a_function_that_fails_writes_nothing(text: str, more: tuple[str, ...], told: str, tmp_path: Path) -> None:
    result = through(tmp_path, text, *more)
    assert (result.exit_code, told in result.stderr) == (2, True), result.output
    assert "the values of the state `python-state-s` cannot be converted" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.py", "recipe.yaml"]


def windows(folder: Path, new: str, size: str) -> Result:
    """Open windows of ten seconds as parts of those that a recipe says, for a version of the program with these."""
    pair = PYFLINK / "windows_longer"
    program = folder / "new.py"
    text = (pair / "new.py").read_text().replace("TumblingEventTimeWindows.of(Time.seconds(20))", new)
    program.write_text(f"from pyflink.datastream.window import SlidingEventTimeWindows\n{text}")
    shutil.copy(pair / "functions.py", folder)
    merge = "merge: {window-contents: 'functions.py:joined'}"
    given = ("--recipe", recipe(folder, f"{{step: convert-windows, operator: keep, {size}, {merge}}}"))
    return run("migrate", pair / "savepoint", program, folder / "out", *given, "--names", pair / "old.py")


@pytest.mark.parametrize(
    ("new", "size"),
    [
        ("TumblingEventTimeWindows.of(Time.seconds(20))", "size: 20 s"),
        ("TumblingEventTimeWindows.of(Time.seconds(20))", "size: 20 s, offset: 20 s"),
        ("TumblingEventTimeWindows.of(Time.seconds(40))", "size: 40 s"),
        ("TumblingEventTimeWindows.of(Time.seconds(20), Time.seconds(10))", "size: 20 s, offset: 10 s"),
    ],
)
def test_open_windows_become_part_of_those_of_new(new: str, size: str, tmp_path: Path) -> None:
    assert windows(tmp_path, new, size).exit_code == 0


@pytest.mark.parametrize(
    ("new", "size", "told"),
    [
        (
            "TumblingEventTimeWindows.of(Time.seconds(20))",
            "size: 40 s",
            "NEW has TumblingEventTimeWindows(20000, 0): write size: 20000 ms, offset: 0 ms, or change NEW.",
        ),
        (
            "TumblingEventTimeWindows.of(Time.seconds(20), Time.seconds(10))",
            "size: 20 s",
            "NEW has TumblingEventTimeWindows(20000, 10000): write size: 20000 ms, offset: 10000 ms, or change NEW.",
        ),
        (
            "SlidingEventTimeWindows.of(Time.seconds(20), Time.seconds(10))",
            "size: 20 s",
            "NEW has SlidingEventTimeWindows(20000, 10000, 0), and only tumbling windows of time",
        ),
    ],
)
def test_windows_that_new_does_not_have_are_refused_by_name(new: str, size: str, told: str, tmp_path: Path) -> None:
    """Nothing would end them, or something else than what is put into them later."""
    result = windows(tmp_path, new, size)
    assert (result.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert f"cannot become others: {told}" in result.stderr


def test_keys_go_with_their_state_and_timers(tmp_path: Path) -> None:
    pair = PYFLINK / "keys_dropped"
    given = ("--recipe", recipe(tmp_path, "{step: drop-keys, operator: keep, keys: [1, 3]}"))
    result = run("migrate", pair / "savepoint", pair / "new.py", tmp_path / "out", *given)
    assert result.exit_code == 0, result.output
    assert "'KEYED PROCESS' (b9306f835fc194e9fd24bb7e9c29e111): keys dropped, with 4 entries\n" in result.stdout


def test_names_of_old_tell_what_its_states_are_called_afterwards(tmp_path: Path) -> None:
    """OLD's program declares the state under the name that it had, and its operator under the id."""
    old = str(PROGRAMS / "state_renamed" / "old.py")
    result = migrate("state_renamed", tmp_path, RENAMED, options=("--names", old))
    assert result.exit_code == 0, result.output


def test_names_of_old_are_read_with_olds_flink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job for Flink 1 uses classes that Flink 2 has no more; NEW is still loaded with its own."""
    loaded: dict[str | None, str | None] = {}

    def read(argument: str | None, options: LoadOptions, *_: object, **__: object) -> Names:
        loaded[argument] = options.jars.version
        return Names()

    monkeypatch.setattr("compat.savepoint.load.read_names", read)
    new = PROGRAMS / "state_renamed" / "new.py"
    given = ("migrate", SAVED / "state_renamed", new, tmp_path / "out", "--recipe", recipe(tmp_path, RENAMED))
    result = run(*given, "--names", "old.jar", "--old-flink-version", "1.20.0", "--flink-version", "2.3.0")
    assert result.exit_code == 0, result.output
    assert loaded["old.jar"] == "1.20.0"


OF_FLINK_1 = """
public class Old {
    public static void main(String[] args) {
        org.apache.flink.api.java.utils.ParameterTool.fromArgs(args);
    }
}
"""


def test_a_job_of_flink_1_that_flink_2_cannot_build_is_told_the_option_for_its_own(tmp_path: Path) -> None:
    """Each command names the option that it has: where there is a NEW, the other Flink is OLD's."""
    jar = jar_of(tmp_path, {"Old.java": OF_FLINK_1}, flink_of("1.20.0").classpath)
    saved, new = SAVED / "state_renamed", PROGRAMS / "state_renamed" / "new.py"
    told = ("--names", jar, "--main-class", "Old", "--flink-version", "2.3.0")
    migrated = run("migrate", saved, new, tmp_path / "out", "--recipe", recipe(tmp_path, RENAMED), *told)
    assert migrated.exit_code == 2
    assert "CMP901: The program failed: NoClassDefFoundError" in migrated.stderr
    assert "Name that one with --old-flink-version, such as 1.20.0." in migrated.stderr
    checked = " ".join(run("check", saved, new, *told).stdout.split())
    assert "Name that one with --old-flink-version, such as 1.20.0." in checked
    for command in ("inspect", saved), ("diagnose", tmp_path / "recipe.yaml"):
        assert "Name that one with --flink-version, such as 1.20.0." in run(*command, *told).stderr


def process(folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, behind some lines of Python. It leaves no bytecode, which a full disk cuts short."""
    pair = SAVED / "state_renamed", PROGRAMS / "state_renamed" / "new.py"
    arguments = ["migrate", *map(str, pair), str(folder / "out"), "--recipe", str(recipe(folder, RENAMED))]
    lines = ["import os, resource", *before, "from compat.cli import main", f"main({arguments!r})"]
    return subprocess.run([sys.executable, "-B", "-c", "\n".join(lines)], capture_output=True, text=True)


def test_a_disk_that_is_full_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    done = process(tmp_path, "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))")
    assert done.returncode == 2, done.stderr
    assert "the folder cannot be made" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.yaml"]


def test_a_process_that_is_killed_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    kill = "import compat.migration.migrating as one; one.compare = lambda *_, **__: os.kill(os.getpid(), 9)"
    done = process(tmp_path, kill)
    assert done.returncode == -9, done.stderr
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.rglob("metadata.unfinished"))
    assert list(tmp_path.rglob("_metadata")) == []


def test_a_checkpoint_in_rocksdbs_files_becomes_canonical_where_it_changes(tmp_path: Path) -> None:
    """Flink 2.3 goes on from what is written here with each key's next number, on RocksDB and on the heap."""
    case = GOLDEN / "savepoints" / "small_rocksdb_incremental_checkpoint"
    text = json.loads(case.with_suffix(".json").read_text())["program"]
    new = tmp_path / "new.py"
    new.write_text(text.replace('ValueStateDescriptor("count"', 'ValueStateDescriptor("total"'))
    out = tmp_path / "out"
    result = run("migrate", case / "chk-5", new, out, "--recipe", recipe(tmp_path, RENAMED), "--copy")
    assert result.exit_code == 0, result.output
    assert "python-state-count -> python-state-total, 4 entries" in result.stdout
    assert values(out)["total"] == values(case / "chk-5")["count"]


@pytest.mark.parametrize(
    ("case", "folder", "operator", "state", "entries"),
    [
        ("all_states_retained_checkpoint", "chk-5", "everything", "total", 3),
        ("broadcast_p2_native_files", "", "keyed", "n", 3),
    ],
)
def test_a_checkpoint_of_the_heap_and_a_native_savepoint_become_canonical_where_they_change(
    case: str, folder: str, operator: str, state: str, entries: int, tmp_path: Path
) -> None:
    saved = GOLDEN / "savepoints" / case
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(json.loads(saved.with_suffix(".json").read_text())["program"])
    new.write_text(old.read_text().replace(f'"{state}"', '"anew"'))
    step = f"{{step: rename-state, operator: {operator}, state: {state}, to: anew}}"
    out = tmp_path / "out"
    given = ("migrate", saved / folder, new, out, "--recipe", recipe(tmp_path, step))
    result = run(*given, "--names", old, "--copy")
    assert result.exit_code == 0, result.output
    assert f"python-state-{state} -> python-state-anew, {entries} entries" in result.stdout
    before = values(saved / folder)
    assert values(out)["anew"] == before[state]
    assert {name: found for name, found in values(out).items() if name != "anew"} == {
        name: found for name, found in before.items() if name != state
    }
    operators = [one for one in read_metadata(out).operators if any(each.managed_keyed for each in one.subtasks)]
    assert {keyed_format(read_metadata(out), one) for one in operators} == {KeyedFormat.CANONICAL}


@pytest.mark.parametrize(
    ("case", "folder", "other"),
    [
        ("broadcast_p2_native_files", "", "rocksdb"),
        ("all_states_retained_checkpoint", "chk-5", "rocksdb"),
        ("all_states_rocksdb_native", "", "hashmap"),
        ("small_rocksdb_incremental_checkpoint", "chk-5", "hashmap"),
    ],
)
def test_state_in_the_format_of_one_backend_becomes_canonical_for_another(
    case: str, folder: str, other: str, tmp_path: Path
) -> None:
    saved = GOLDEN / "savepoints" / case
    program = tmp_path / "job.py"
    program.write_text(json.loads(saved.with_suffix(".json").read_text())["program"])
    given = (
        "migrate",
        saved / folder,
        program,
        tmp_path / "out",
        "--names",
        program,
        "-D",
        f"state.backend.type={other}",
    )
    empty = run(*given, "--recipe", recipe(tmp_path))
    assert (empty.exit_code, "CMP503" in empty.output) == (1, True)
    result = run(*given, "--canonical")
    assert result.exit_code == 0, result.output
    assert "keyed state in the canonical format, " in result.stdout
    assert values(tmp_path / "out") == values(saved / folder)


def test_what_is_unknown_of_it_is_settled_by_the_same_command(tmp_path: Path) -> None:
    """Not by a check of what was not written; and it is no recipe that lacks steps."""
    saved = GOLDEN / "savepoints" / "all_states_rocksdb_native"
    program, out = tmp_path / "job.py", tmp_path / "out"
    program.write_text(json.loads(saved.with_suffix(".json").read_text())["program"])
    result = run("migrate", saved, program, out, "--canonical", "-D", "state.backend.type=hashmap")
    assert (result.exit_code, out.exists()) == (2, False)
    given = shlex.join(
        ["compat", "migrate", *map(str, (saved, program, out)), "--canonical", "-D", "state.backend.type=hashmap"]
    )
    assert f'Next: {given} --names "$OLD_PROGRAM"' in result.stdout.splitlines()
    assert "recipe" not in result.stdout
    assert result.stdout.endswith("keep OUT nevertheless with --allow-unknown.\n")
    assert run(*shlex.split(given)[1:], "--names", program).exit_code == 0


MIGRATIONS = GOLDEN / "migrations" / "pyflink"


def of_machine(pair: Path, folder: Path, number: int, *steps: str) -> subprocess.Popen[str]:
    """One of two machines that run the same command."""
    given = [pair / "savepoint", pair / "new.py", folder / "out", "--recipe", recipe(folder, *steps)]
    command = [
        sys.executable,
        "-m",
        "compat",
        "migrate",
        *given,
        "--names",
        pair / "old.py",
        "--machine",
        f"{number}/2",
    ]
    return subprocess.Popen([*map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_machines_write_one_savepoint_together(tmp_path: Path) -> None:
    """The keys of one machine's share go to the other's."""
    pair, step = MIGRATIONS / "key_to_text", "{step: convert-key, operator: keep}"
    machines = [of_machine(pair, tmp_path, number, step) for number in (2, 1)]
    (helper, _), (leader, _) = [one.communicate(timeout=100) for one in machines]
    assert [one.returncode for one in machines] == [0, 0]
    assert helper == f"This machine has done its share: machine 1 finishes {tmp_path / 'out'}.\n"
    assert "It was read back and checked" in leader
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "recipe.yaml"]
    alone = tmp_path / "alone"
    options = ("--recipe", tmp_path / "recipe.yaml", "--names", pair / "old.py")
    assert run("migrate", pair / "savepoint", pair / "new.py", alone, *options).exit_code == 0
    assert values(tmp_path / "out") == values(alone) != {}


def test_no_machine_waits_for_a_leader_that_refuses(tmp_path: Path) -> None:
    pair = MIGRATIONS / "key_to_text"
    helper = of_machine(pair, tmp_path, 2)
    until(lambda: bool(list(tmp_path.glob(".out.*/aside.2"))))
    leader = of_machine(pair, tmp_path, 1)
    assert "Nothing was written." in leader.communicate(timeout=100)[0]
    assert helper.communicate(timeout=100)[0] != ""
    assert (leader.returncode, helper.returncode) == (1, 0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["recipe.yaml"]


@pytest.mark.parametrize(
    ("machine", "out", "told"),
    [
        ("3/2", "out", "'3/2' is not K/N with K from 1 to N"),
        ("0/2", "out", "is not K/N"),
        ("two", "out", "is not K/N"),
        ("1/2", "memory://migrate/new", "OUT is in a folder that all machines have mounted"),
    ],
)
def test_machines_that_cannot_work_together_are_told(machine: str, out: str, told: str, tmp_path: Path) -> None:
    new = PROGRAMS / "state_renamed" / "new.py"
    result = run("migrate", SAVED / "state_renamed", new, out, "--canonical", "--machine", machine)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())


def test_without_a_recipe_the_options_are_told(tmp_path: Path) -> None:
    result = run("migrate", SAVED / "state_renamed", PROGRAMS / "state_renamed" / "new.py", tmp_path / "out")
    assert result.exit_code == 2
    assert "Give --recipe FILE" in result.output


@pytest.fixture
def bucket() -> Iterator[str]:
    """A savepoint on other storage; gives its URI."""
    system = fsspec.filesystem("memory")
    for file in (SAVED / "state_renamed").iterdir():
        system.pipe(f"/migrate/old/{file.name}", file.read_bytes())
    yield "memory://migrate/old"
    system.rm("/migrate", recursive=True)


@pytest.mark.parametrize("remote", [False, True])
def test_savepoints_on_other_storage_are_read_and_written_there(bucket: str, remote: bool, tmp_path: Path) -> None:
    new = PROGRAMS / "state_renamed" / "new.py"
    before = {
        name: fsspec.filesystem("memory").cat(name) for name in fsspec.filesystem("memory").ls("/migrate/old", False)
    }
    out = "memory://migrate/new" if remote else str(tmp_path / "out")
    result = run("migrate", bucket, new, out, "--recipe", recipe(tmp_path, RENAMED))
    assert result.exit_code == 0, result.output
    assert f"{out} holds {bucket} for {new}:" in result.stdout
    made = read_savepoint(out)
    there = [entry.value for entry in entries(made) if entry.state.declared_name == "total"]
    assert there == values(SAVED / "state_renamed")["count"]
    assert bucket.encode() not in read_draft(made).data, "all files went along"
    assert before == {name: fsspec.filesystem("memory").cat(name) for name in before}
    assert run("migrate", bucket, new, out, "--recipe", recipe(tmp_path, RENAMED)).exit_code == 2


def test_nothing_stays_on_other_storage_of_what_cannot_be_finished(
    bucket: str, tmp_path: Path, monkeypatch: Any
) -> None:
    system = fsspec.filesystem("memory")
    put = type(system).put_file

    def refused(self: Any, here: str, there: str, **options: Any) -> None:
        if there.endswith("_metadata"):
            raise PermissionError("no more room")
        put(self, here, there, **options)

    monkeypatch.setattr(type(system), "put_file", refused)
    out = "memory://migrate/new"
    result = run("migrate", bucket, PROGRAMS / "state_renamed" / "new.py", out, "--recipe", recipe(tmp_path, RENAMED))
    assert result.exit_code == 2
    assert "this storage does not let us write" in result.stderr
    assert [name for name in system.find("/migrate") if "/new/" in name] == []
