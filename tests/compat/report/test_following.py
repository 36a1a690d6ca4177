"""The command to run next, for each kind of job and of old state; it works when it is pasted."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from compat.check.code_suggestions import OLD_PROGRAM
from compat.check.findings import Fix, Level, Started, Verdict
from compat.check.undecided import Undecided
from compat.loader.failure import Failure, Undecidable
from compat.report.context import ReportContext, Typed
from compat.report.following import (
    accepted,
    command_of,
    instruction,
    mending,
    next_step,
    next_step_undecided,
    others,
    start,
)
from compat.state.model.source_line import SourceLine
from tests.compat.builders import finding, operator, program, report

GIVEN = Typed(definitions=("parallelism.default=4",))
STARTED = Started(arguments=("--topic", "my words"), main_class="org.Job", pyfiles=("lib",))


@pytest.mark.parametrize(
    ("old", "new", "allowed", "typed", "expected"),
    [
        (
            program("v1.py"),
            program("v2.py"),
            False,
            Typed(),
            ('flink run -s "$SAVEPOINT" -py v2.py', 'compat job run v2.py -s "$SAVEPOINT"'),
        ),
        (
            program("v1.py"),
            program("v2.py"),
            True,
            GIVEN,
            (
                "flink run -s \"$SAVEPOINT\" -n -Dparallelism.default=4 -py v2.py -pyfs lib --topic 'my words'",
                'compat job run v2.py -s "$SAVEPOINT" -n -D parallelism.default=4 --pyfiles lib '
                "--args '--topic '\"'\"'my words'\"'\"''",
            ),
        ),
        (program("sp 1", kind="savepoint"), program("v2.py"), False, Typed(), ("flink run -s 'sp 1' -py v2.py",)),
        (program("sp-1", kind="snapshot"), program("v2.py"), False, Typed(), ("compat job run v2.py -s sp-1",)),
        (
            program("v1.jar", language="java"),
            program("v2.jar", language="java"),
            False,
            GIVEN,
            ("flink run -s \"$SAVEPOINT\" -Dparallelism.default=4 -c org.Job v2.jar --topic 'my words'",),
        ),
        (
            program("sp-1", kind="savepoint"),
            program("v2.sql", language="sql", flink="2.3.0"),
            True,
            Typed(),
            (
                "sql-client.sh -D execution.state-recovery.path=sp-1 "
                "-D execution.state-recovery.ignore-unclaimed-state=true -f v2.sql",
            ),
        ),
        (
            program("v1.sql", language="sql", flink="1.18.1"),
            program("v2.sql", language="sql", flink="1.18.1"),
            False,
            Typed(),
            ('sql-client.sh -D execution.savepoint.path="$SAVEPOINT" -f v2.sql',),
        ),
        (
            program("job@1"),
            program("v2.py"),
            False,
            Typed(push="compat registry push --job job v2.py"),
            ("compat registry push --job job v2.py",),
        ),
    ],
    ids=["python", "python, all given", "savepoint", "snapshot", "jar", "SQL", "SQL of before 1.20", "a registry"],
)
def test_what_starts_new(old, new, allowed, typed, expected) -> None:
    started = STARTED if typed is GIVEN else Started()
    done = report(Verdict.COMPATIBLE, old=old, new=new, allow_non_restored=allowed, started=started)
    assert start(done, typed) == expected
    assert next_step(done, ReportContext(sources={}, typed=typed)) == f"Next: {expected[0]}"
    for command in expected:
        assert shlex.split(command)


def test_a_program_that_no_client_runs_is_told_where_its_savepoint_goes() -> None:
    new = replace(program("v2.jar", language="java", flink="1.20.1"), alone=True)
    done = report(Verdict.COMPATIBLE, old=program("v1.jar", language="java"), new=new)
    assert next_step(done, ReportContext(sources={})) == (
        'Next: start it as before, with execution.state-recovery.path="$SAVEPOINT" in the configuration that it gives its '
        "environment."
    )


@pytest.mark.parametrize(
    ("new", "language", "expected"),
    [
        (
            "git:0123456789abcdef0123456789abcdef01234567:jobs/v2.py",
            "python",
            "git switch --detach 0123456 && flink run",
        ),
        ("git:main:my jobs/v2.py", "python", "git switch --detach main && flink run"),
        ("git:v1.0:v2.sql", "sql", "git switch --detach v1.0 && sql-client.sh"),
        ("git:v1.0:v2.jar", "java", "git switch --detach v1.0 && flink run"),
    ],
)
def test_a_program_of_a_revision_is_started_where_that_is_checked_out(new, language, expected) -> None:
    done = report(Verdict.COMPATIBLE, old=program("v1"), new=program(new, language=language))
    for command in start(done, Typed()):
        assert command.startswith("git switch --detach ")
        assert "git:" not in command
        assert shlex.quote(new.rpartition(":")[2]) in command
    assert start(done, Typed())[0].startswith(expected)


def test_the_program_of_a_plan_is_a_variable() -> None:
    done = report(Verdict.COMPATIBLE, old=program("v1.json"), new=program("v2.json", kind="plan", language="python"))
    assert start(done, Typed()) == ('flink run -s "$SAVEPOINT" -py "$JOB"',)


def test_a_check_that_failed_is_not_repeated() -> None:
    failed = report(Verdict.INCOMPATIBLE, finding("CMP404"))
    context = ReportContext(sources={}, typed=Typed(check="compat check a.py b.py --names x.csv"))
    assert next_step(failed, context) == "Next: compat rule CMP404"
    unnamed = finding("CMP504", Level.UNKNOWN, fixes=(Fix(text="Name it.", code=OLD_PROGRAM),))
    unknown = report(Verdict.UNKNOWN, unnamed)
    settled = ReportContext(sources={}, typed=Typed(options="-D a=b"))
    names = (unknown.old.name, unknown.new.name)
    assert next_step(unknown, settled) == f'Next: compat check {" ".join(names)} -D a=b --names "$OLD_PROGRAM"'
    again = replace(settled, typed=Typed(check=f"compat check a b {OLD_PROGRAM}"))
    assert next_step(unknown, again) == "Next: compat rule CMP504"


def test_the_rule_to_read_of_is_that_of_the_finding_which_is_shown_first() -> None:
    """A type that follows from what a query computes is not told beside it."""
    whose = operator("GroupAggregate")
    failed = report(Verdict.INCOMPATIBLE, finding("CMP404", old=whose), finding("CMP701", old=whose))
    assert next_step(failed, ReportContext(sources={})) == "Next: compat rule CMP701"


def test_what_fix_left_is_not_promised_to_another_fix() -> None:
    call = Fix(text="Add it.", call='.uid("a")', at=SourceLine("new.py", 1))
    failed = report(Verdict.INCOMPATIBLE, finding("CMP102", fixes=(call,)))
    typed = Typed(check="compat check old.py new.py", fixable=True)
    assert next_step(failed, ReportContext(sources={}, typed=typed)) == "Next: compat check old.py new.py --fix"
    left = ReportContext(sources={}, typed=replace(typed, fixed=True))
    assert next_step(failed, left) == "Next: compat rule CMP102"
    assert "--fix" not in instruction(failed, left)


MOVED = finding(
    "CMP402", fixes=(Fix(text="Or move it.", code="compat migrate sp b.py out --recipe r.yaml", moves=True),)
)


def test_a_savepoint_is_moved_by_the_recipe_that_is_written_first() -> None:
    failed = report(Verdict.INCOMPATIBLE, MOVED, old=program("sp", kind="savepoint"))
    typed = Typed(check="compat check sp b.py", recipe="r.yaml")
    context = ReportContext(sources={}, typed=typed)
    assert next_step(failed, context) == "Next: compat check sp b.py --write-recipe r.yaml"
    written = replace(context, typed=replace(typed, recipe_written=True))
    assert next_step(failed, written) == "Next: compat migrate sp b.py out --recipe r.yaml"
    assert others(failed, context) == others(failed, written) == ()


def test_one_of_several_checks_writes_no_recipe() -> None:
    failed = report(Verdict.INCOMPATIBLE, MOVED, old=program("sp", kind="savepoint"))
    context = ReportContext(sources={}, typed=Typed(check="compat check sp b.py", recipe="r.yaml"))
    assert next_step(failed, context, alone=False) == "Next: compat rule CMP402"
    unasked = replace(context, typed=Typed(check="compat check --against HEAD b.py"))
    assert next_step(failed, unasked) == "Next: compat rule CMP402"
    assert others(failed, unasked) == ()


def test_an_edit_comes_before_a_savepoint_that_is_moved() -> None:
    call = Fix(text="Add it.", call='.uid("a")', at=SourceLine("new.py", 1))
    failed = report(Verdict.INCOMPATIBLE, replace(MOVED, fixes=(call, *MOVED.fixes)))
    typed = Typed(check="compat check a.py b.py", fixable=True, recipe="r.yaml")
    context = ReportContext(sources={}, typed=typed)
    assert next_step(failed, context) == "Next: compat check a.py b.py --fix"
    assert others(failed, context) == ("compat check a.py b.py --write-recipe r.yaml",)


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ((None,), "compat rule CMP901"),
        (('--args "$ARGUMENTS"',), 'compat check a.py b.py --args "$ARGUMENTS"'),
        (('--old-args "$ARGUMENTS"', '--args "$ARGUMENTS"'), 'compat check a.py b.py --args "$ARGUMENTS"'),
        (('--old-args "$ARGUMENTS"', None), 'compat check a.py b.py --old-args "$ARGUMENTS"'),
        (('--old-env A="$A"', '--env B="$B"'), 'compat check a.py b.py --old-env A="$A" --env B="$B"'),
        (("--timeout 120", "--timeout 120"), "compat check a.py b.py --timeout 120"),
        (
            ('--old-env A="$A" --old-env B="$B"', '--env A="$A" --env B="$B"'),
            'compat check a.py b.py --env A="$A" --env B="$B"',
        ),
    ],
)
def test_a_check_that_lacked_something_is_made_with_it(failures, expected) -> None:
    told = tuple(
        Failure(rule=Undecidable.PROGRAM_FAILED, message="No.", name="a.py", option=option) for option in failures
    )
    context = ReportContext(sources={}, typed=Typed(check="compat check a.py b.py"))
    assert next_step_undecided(Undecided(failures=told, old="a.py", new="b.py"), context) == f"Next: {expected}"


def test_more_time_takes_the_place_of_the_time_that_was_not_enough() -> None:
    told = Failure(rule=Undecidable.PROGRAM_TIMEOUT, message="No.", name="a.py", option="--timeout 16")
    context = ReportContext(sources={}, typed=Typed(check="compat check a.py b.py --timeout 4.0 --verbose"))
    outcome = Undecided(failures=(told,), old="a.py", new="b.py")
    assert next_step_undecided(outcome, context) == "Next: compat check a.py b.py --verbose --timeout 16"


def test_a_command_that_makes_what_is_lacking_comes_first() -> None:
    told = Failure(rule=Undecidable.PROGRAM_FAILED, message="No.", name="a.py", command="compat setup pyflink 2.3")
    other = Failure(rule=Undecidable.PROGRAM_FAILED, message="No.", name="b.py", option="--timeout 120")
    context = ReportContext(sources={}, typed=Typed(check="compat check a.py b.py"))
    outcome = Undecided(failures=(other, told), old="a.py", new="b.py")
    assert next_step_undecided(outcome, context) == "Next: compat setup pyflink 2.3"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"option": "--connector kafka"}, "Run: compat check 'a b.py' c.py --connector kafka"),
        ({"command": "pip install redis", "option": "--connector kafka"}, "Run: pip install redis"),
        ({"option": '--env TOPIC="$TOPIC"'}, None),
        ({"hint": "Repair the program."}, None),
        ({"option": "'a b.py'"}, None),  # what was typed already leaves a rule to read, which mends nothing
    ],
)
def test_what_mends_a_failure_is_a_command_that_works_when_it_is_pasted(given, expected) -> None:
    failure = Failure(rule=Undecidable.PROGRAM_FAILED, message="It failed.", name="c.py", **given)
    outcome = Undecided(failures=(failure,), old="a b.py", new="c.py")
    assert mending(outcome, failure, ReportContext(typed=Typed())) == expected


@pytest.mark.parametrize(
    ("fix", "expected"),
    [
        (Fix(text="Move it.", code="compat migrate s n o", moves=True), "Run: compat migrate s n o"),
        (Fix(text="Move it.", code='compat migrate "$SAVEPOINT" n o', moves=True), None),
        (Fix(text="Name it.", code="--names old.py"), "Run: compat check v1.py v2.py -n --names old.py"),
        (Fix(text="Name it.", code=OLD_PROGRAM), None),
        (Fix(text="Set it.", code=".set_parallelism(2)"), None),
        (Fix(text="Repair it."), None),
    ],
)
def test_a_fix_that_is_a_command_is_told_as_one(fix, expected) -> None:
    context = ReportContext(typed=Typed(check="compat check v1.py v2.py -n"))
    assert command_of(fix, report(Verdict.INCOMPATIBLE), context) == expected


def test_what_counts_as_failed_is_not_started() -> None:
    warned = report(Verdict.COMPATIBLE, finding("CMP104", Level.WARNING, "no uids"))
    strict = ReportContext(sources={}, fail_on=Level.WARNING)
    assert accepted(warned, ReportContext(sources={}))
    assert not accepted(warned, strict)
    assert next_step(warned, strict) == "Next: compat rule CMP104"


def test_what_is_not_known_may_be_accepted() -> None:
    unknown = report(Verdict.UNKNOWN, finding("CMP410", Level.UNKNOWN, "states are not known"))
    assert "--allow-unknown" in instruction(unknown, ReportContext(sources={}))
    allowed = ReportContext(sources={}, allow_unknown=True)
    assert instruction(unknown, allowed) == ""
    assert next_step(unknown, allowed).startswith("Next: flink run -s ")
