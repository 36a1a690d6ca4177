"""The command to run next, for each kind of job and of old state; it works when it is pasted."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from compat.check.findings import Level, Verdict
from compat.report.context import ReportContext, Typed
from compat.report.following import accepted, instruction, next_step, start
from tests.compat.builders import finding, program, report

GIVEN = Typed(arguments="--topic 'my words'", main_class="org.Job", definitions=("parallelism.default=4",))


@pytest.mark.parametrize(
    ("old", "new", "allowed", "typed", "expected"),
    [
        (
            program("v1.py"),
            program("v2.py"),
            False,
            Typed(),
            ('flink run -s "$SAVEPOINT" -py v2.py', 'compat run v2.py -s "$SAVEPOINT"'),
        ),
        (
            program("v1.py"),
            program("v2.py"),
            True,
            GIVEN,
            (
                "flink run -s \"$SAVEPOINT\" -n -Dparallelism.default=4 -py v2.py --topic 'my words'",
                "compat run v2.py -s \"$SAVEPOINT\" -n -D parallelism.default=4 --args '--topic '\"'\"'my words'\"'\"''",
            ),
        ),
        (program("sp 1", kind="savepoint"), program("v2.py"), False, Typed(), ("flink run -s 'sp 1' -py v2.py",)),
        (program("sp-1", kind="snapshot"), program("v2.py"), False, Typed(), ("compat run v2.py -s sp-1",)),
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
            Typed(push="compat push --job job v2.py"),
            ("compat push --job job v2.py",),
        ),
    ],
    ids=["python", "python, all given", "savepoint", "snapshot", "jar", "SQL", "SQL of before 1.20", "a registry"],
)
def test_what_starts_new(old, new, allowed, typed, expected) -> None:
    done = report(Verdict.COMPATIBLE, old=old, new=new, allow_non_restored=allowed)
    assert start(done, typed) == expected
    assert next_step(done, ReportContext(sources={}, typed=typed)) == f"Next: {expected[0]}"
    for command in expected:
        assert shlex.split(command)


def test_a_check_that_failed_is_made_again_as_it_was_typed() -> None:
    failed = report(Verdict.INCOMPATIBLE, finding("CMP404"))
    context = ReportContext(sources={}, typed=Typed(check="compat check a.py b.py --names x.csv"))
    assert next_step(failed, context) == "Next: compat check a.py b.py --names x.csv"
    each = replace(context, typed=Typed(options="-D a=b"))
    assert next_step(failed, each) == f"Next: compat check {failed.old.name} {failed.new.name} -D a=b"


def test_what_counts_as_failed_is_not_started() -> None:
    warned = report(Verdict.COMPATIBLE, finding("CMP104", Level.WARNING, "no uids"))
    strict = ReportContext(sources={}, fail_on=Level.WARNING)
    assert accepted(warned, ReportContext(sources={}))
    assert not accepted(warned, strict)
    assert next_step(warned, strict).startswith("Next: compat check ")


def test_what_is_not_known_may_be_accepted() -> None:
    unknown = report(Verdict.UNKNOWN, finding("CMP410", Level.UNKNOWN, "states are not known"))
    assert "--allow-unknown" in instruction(unknown, ReportContext(sources={}))
    allowed = ReportContext(sources={}, allow_unknown=True)
    assert instruction(unknown, allowed) == ""
    assert next_step(unknown, allowed).startswith("Next: flink run -s ")
