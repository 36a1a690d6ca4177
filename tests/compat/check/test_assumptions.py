"""What neither programs nor options say is varied: the verdict stands where it is the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from compat.check.assumptions import under_assumptions, under_both
from compat.check.context import Asked, CheckOptions
from compat.check.findings import Account, Evidence, Fate, Finding, Fix, Level, Report, Verdict, Witness
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from compat.plan.facts import Program, Snapshot
from compat.state.flink.formats import KeyedFormat
from compat.state.model.operators import Operator
from tests.compat.builders import finding, operator, program, report, value_state

COUNT = """\
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value, context):
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection(["a"], Types.STRING()).key_by(lambda word: word).process(Count(), Types.STRING())
words.print().set_parallelism(1)
env.execute()
"""
REBALANCED = COUNT.replace("words.print()", "words.rebalance().print()")


def checked(folder: Path, old: str, new: str, **options: str) -> Report:
    for name, text in (("old.py", old), ("new.py", new)):
        (folder / name).write_text(text, encoding="utf-8")
    load = LoadOptions(options={name.replace("_", "."): value for name, value in options.items()})
    (report,) = compare(Comparison(str(folder / "old.py"), str(folder / "new.py"), load=load)).outcomes
    assert isinstance(report, Report), report
    return report


def test_a_verdict_that_hangs_on_the_cluster_is_unknown(tmp_path: Path) -> None:
    """With parallelism 1 the printing operator is chained to the counter, whose id then moves; with any other it is not."""
    report = checked(tmp_path, COUNT, REBALANCED)
    assert report.verdict is Verdict.UNKNOWN
    (hangs,) = [finding for finding in report.findings if finding.level is Level.UNKNOWN]
    assert hangs.rule == "CMP306"
    assert {account.fate for account in report.accounts} == {Fate.UNKNOWN}
    assert not any(finding.fixes for finding in report.findings if finding.level is Level.ERROR)


@pytest.mark.parametrize(("parallelism", "verdict"), [("1", Verdict.INCOMPATIBLE), ("4", Verdict.COMPATIBLE)])
def test_the_option_settles_it(tmp_path: Path, parallelism: str, verdict: Verdict) -> None:
    report = checked(tmp_path, COUNT, REBALANCED, parallelism_default=parallelism)
    assert report.verdict is verdict
    assert "CMP306" not in {finding.rule for finding in report.findings}


def test_a_program_that_sets_it_leaves_nothing_open(tmp_path: Path) -> None:
    old, new = (text.replace("words = ", "env.set_parallelism(1)\nwords = ") for text in (COUNT, REBALANCED))
    assert checked(tmp_path, old, new).verdict is Verdict.INCOMPATIBLE


def test_uids_do_not_hang_on_it(tmp_path: Path) -> None:
    old, new = (
        text.replace("Types.STRING())\nwords", 'Types.STRING()).uid("n")\nwords') for text in (COUNT, REBALANCED)
    )
    assert checked(tmp_path, old, new).verdict is Verdict.COMPATIBLE


def test_where_both_are_incompatible_no_id_of_one_is_offered(tmp_path: Path) -> None:
    """The id that state has is another one on another cluster: a fix that names it would be right on one of them only."""
    before = 'env.from_collection(["a"], Types.STRING())'
    new = COUNT.replace(before, f"{before}.rebalance().map(lambda word: word, Types.STRING()).rebalance()")
    report = checked(tmp_path, COUNT, new)
    assert report.verdict is Verdict.INCOMPATIBLE
    assert not [fix for one in report.findings for fix in one.fixes if "set_uid_hash" in (fix.call or "")]


def test_each_of_several_jobs_is_compared_with_its_own(tmp_path: Path) -> None:
    """The second job depends on it in NEW only, the first one not at all."""
    first = COUNT.replace("words.print().set_parallelism(1)\n", 'words.print().uid("out")\n').replace(
        "Types.STRING())\nwords", 'Types.STRING()).uid("n")\nwords'
    )
    second = COUNT[COUNT.index("words = ") :]
    for name, text in (("old.py", second), ("new.py", REBALANCED[REBALANCED.index("words = ") :])):
        (tmp_path / name).write_text(first + text, encoding="utf-8")
    reports = compare(Comparison(str(tmp_path / "old.py"), str(tmp_path / "new.py"))).outcomes
    assert [report.verdict for report in reports] == [Verdict.COMPATIBLE, Verdict.UNKNOWN]


def test_plans_that_were_kept_say_the_same(tmp_path: Path) -> None:
    checked(tmp_path, COUNT, REBALANCED)
    for name in ("old", "new"):
        command = [sys.executable, "-m", "compat", "plan", f"{name}.py", "--format", "json"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        (tmp_path / f"{name}.json").write_text(found, encoding="utf-8")
    for old, new in (("old.json", "new.json"), ("old.py", "new.json"), ("old.json", "new.py")):
        (report,) = compare(Comparison(str(tmp_path / old), str(tmp_path / new))).outcomes
        assert report.verdict is Verdict.UNKNOWN, (old, new)


def test_the_cores_of_the_machine_have_no_say(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(COUNT, encoding="utf-8")
    told = [
        subprocess.run(
            [sys.executable, "-m", "compat", "plan", "job.py", "--format", "json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHON_CPU_COUNT": cores},
            preexec_fn=(lambda: os.sched_setaffinity(0, {0})) if cores == "1" else None,
        ).stdout
        for cores in ("1", "7")
    ]
    assert told[0] == told[1]


TIE = Fix(text="tie it", call='.set_uid_hash("1")')
NAME = Fix(text="name it", call='.uid("a")')
ADVICE = Fix(text="think")
MOVED = finding("CMP102", fixes=(TIE, NAME, ADVICE))
WARNED, NOTED = finding("CMP304", Level.WARNING), finding("CMP201", Level.NOTE)
PROOF = Evidence(("id",), Witness.READERS)


def account(fate: Fate, node: int = 1, state: str | None = "n", **more: object) -> Account:
    one = operator("Count", node=node)
    return Account(old=one, state=None if state is None else value_state(state), new=one, fate=fate, **more)


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        (Verdict.COMPATIBLE, Verdict.MIGRATION),
        (Verdict.MIGRATION, Verdict.COMPATIBLE),
        (Verdict.INCOMPATIBLE, Verdict.INCOMPATIBLE),
        (Verdict.UNKNOWN, Verdict.UNKNOWN),
    ],
)
def test_the_same_answer_is_the_usual_one(usual: Verdict, other: Verdict) -> None:
    told = report(usual, MOVED, WARNED)
    assert msgspec.structs.replace(under_both(told, report(other, MOVED)), assumptions=()) == told
    differs = finding("CMP102", fixes=(Fix(text="tie it", call='.set_uid_hash("2")'), NAME, ADVICE))
    without = under_both(told, report(other, differs))
    assert (without.verdict, [one.fixes for one in without.findings]) == (usual, [(NAME, ADVICE), ()])


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        (Verdict.COMPATIBLE, Verdict.INCOMPATIBLE),
        (Verdict.INCOMPATIBLE, Verdict.MIGRATION),
        (Verdict.UNKNOWN, Verdict.INCOMPATIBLE),
        (Verdict.MIGRATION, Verdict.UNKNOWN),
    ],
)
def test_two_answers_are_none(usual: Verdict, other: Verdict) -> None:
    open_question = finding("CMP431", Level.UNKNOWN, subject="pickles")
    both: tuple[Finding, ...] = (MOVED, NOTED, WARNED, open_question)
    found = under_both(report(usual, *both, finding("CMP414", Level.WARNING)), report(other, *both))
    assert found.verdict is Verdict.UNKNOWN
    assert [one.rule for one in found.findings] == ["CMP306", "CMP431", "CMP304", "CMP201"]


GIVEN = operator("Count", parallelism=4), operator("Out", id="f" * 32, parallelism=2, parallelism_configured=True)


@pytest.mark.parametrize(
    ("ran", "new", "stands"),
    [
        ((1,), GIVEN, "usual"),
        ((4,), GIVEN, "other"),
        ((2,), GIVEN, None),  # stands for neither: in NEW an operator of its own has it
        ((1, 4), (*GIVEN, operator("Sum", id="e" * 32)), None),
        ((), GIVEN, None),
        ((1,), (operator("Count", id="d" * 32, user_hash=operator("Count").id), GIVEN[1]), "usual"),
    ],
)
def test_a_snapshot_tells_the_parallelism_that_its_job_had(
    ran: tuple[int, ...], new: tuple[Operator, ...], stands: str | None
) -> None:
    recorded = [operator("Count", parallelism=ran[0])] if ran else []
    recorded += [operator("Sum", id="e" * 32, parallelism=ran[1])] if len(ran) > 1 else []
    old = msgspec.structs.replace(
        program("savepoint", *recorded, kind="savepoint"), snapshot=Snapshot(path="_metadata", format_version=4)
    )
    reports = {
        name: msgspec.structs.replace(report(verdict, *found), old=old, new=program("new.jar", *new))
        for name, verdict, found in (("usual", Verdict.COMPATIBLE, ()), ("other", Verdict.INCOMPATIBLE, (MOVED,)))
    }
    found = under_both(reports["usual"], reports["other"])
    assert found.verdict is (Verdict.UNKNOWN if stands is None else reports[stands].verdict)
    assert [(one.rule, one.level) for one in found.findings if one.rule == "CMP306"] == [
        ("CMP306", Level.UNKNOWN if stands is None else Level.NOTE)
    ]


PINS = operator("Count", user_hash="a" * 32), operator("Sum", id="e" * 32, user_hash="b" * 32)


@pytest.mark.parametrize(
    ("usual", "other", "stands"),
    [("ab", "", "usual"), ("ab", "a", "usual"), ("", "b", "other"), ("a", "b", None), ("a", "a", None), ("", "", None)],
)
def test_ids_that_new_pins_tell_the_parallelism_that_old_had(usual: str, other: str, stands: str | None) -> None:
    new = program("new.jar", *PINS)
    reports = {
        name: msgspec.structs.replace(
            report(verdict, *found), old=program("old.jar", *(operator("one", id=one * 32) for one in ids)), new=new
        )
        for name, ids, verdict, found in (
            ("usual", usual, Verdict.COMPATIBLE, ()),
            ("other", other, Verdict.INCOMPATIBLE, (MOVED,)),
        )
    }
    found = under_both(reports["usual"], reports["other"])
    assert found.verdict is (Verdict.UNKNOWN if stands is None else reports[stands].verdict)


def test_accounts_of_one_fate_stand_and_the_others_hang_on_it() -> None:
    kept, besides = account(Fate.RESTORED, evidence=PROOF), account(Fate.RESTORED, state=None, evidence=PROOF)
    lost = account(Fate.REFUSED, node=2, rule="CMP102")
    gone = account(Fate.RESTORED, node=3, evidence=PROOF, gap="a gap")
    usual = report(Verdict.COMPATIBLE, accounts=(kept, besides, lost, gone))
    hangs = account(Fate.RESTORED, node=2, evidence=PROOF)
    other = report(Verdict.INCOMPATIBLE, MOVED, accounts=(hangs, account(Fate.REFUSED, state=None), kept))
    accounts = under_both(usual, other).accounts
    assert accounts[0] == kept
    assert [(one.old.node, one.fate, one.rule, one.evidence, one.gap) for one in accounts[1:]] == [
        (node, Fate.UNKNOWN, "CMP306", None, "") for node in (1, 2, 3)
    ]
    assert not any(one.open for one in accounts)


LASTING = COUNT.replace("Types.STRING())\nwords", 'Types.STRING()).uid("n")\nwords')
DESCRIPTOR = 'ValueStateDescriptor("n", Types.LONG())'
WITH_TTL = LASTING.replace(
    f"self.n = context.get_state({DESCRIPTOR})",
    f"""from pyflink.common import Time
        from pyflink.datastream.state import StateTtlConfig
        descriptor = {DESCRIPTOR}
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.n = context.get_state(descriptor)""",
)
BIG = LASTING.replace("Types.LONG()", "Types.BIG_INT()")


@pytest.mark.parametrize(
    ("new", "given", "verdict", "assumed"),
    [
        (WITH_TTL, {}, Verdict.UNKNOWN, "flink"),
        (WITH_TTL, {"flink": "2.3"}, Verdict.COMPATIBLE, None),
        (WITH_TTL, {"flink": "1.20"}, Verdict.INCOMPATIBLE, None),
        (BIG, {}, Verdict.UNKNOWN, "python.execution-mode"),
        (BIG, {"python.execution-mode": "process"}, Verdict.COMPATIBLE, None),
        (BIG, {"python.execution-mode": "thread"}, Verdict.INCOMPATIBLE, None),
        (LASTING, {}, Verdict.COMPATIBLE, None),
    ],
)
def test_a_setting_that_nobody_told_and_the_answer_hangs_on(
    tmp_path: Path, new: str, given: dict[str, str], verdict: Verdict, assumed: str | None
) -> None:
    for name, text in (("old.py", LASTING), ("new.py", new)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    load = LoadOptions.given({key: value for key, value in given.items() if key != "flink"}, flink=given.get("flink"))
    (report,) = compare(Comparison(str(tmp_path / "old.py"), str(tmp_path / "new.py"), load=load)).outcomes
    assert isinstance(report, Report)
    assert report.verdict is verdict, report.findings
    assert [one.name for one in report.assumptions if one.differs] == ([] if assumed is None else [assumed])
    assert ("CMP608" in {finding.rule for finding in report.findings}) is (assumed is not None)


def test_a_loss_under_flinks_own_default_is_no_question(tmp_path: Path) -> None:
    """The other mode would keep it; but nobody said that the cluster has it."""
    in_thread_mode = LASTING.replace(
        "env = StreamExecutionEnvironment.get_execution_environment()",
        """from pyflink.common import Configuration
settings = Configuration()
settings.set_string("python.execution-mode", "thread")
env = StreamExecutionEnvironment.get_execution_environment(settings)""",
    )
    for old, new in ((in_thread_mode, LASTING), (LASTING, in_thread_mode)):
        assert checked(tmp_path, old, new).verdict is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(
    ("formats", "backend", "tried"),
    [
        ({}, None, ["hashmap", "rocksdb"]),
        ({}, "rocksdb", []),
        ({"a": KeyedFormat.CANONICAL}, None, ["hashmap", "rocksdb"]),
        ({"a": KeyedFormat.FILES}, None, ["rocksdb"]),
        ({"a": KeyedFormat.HEAP}, None, ["hashmap"]),
        ({"a": KeyedFormat.HEAP, "b": KeyedFormat.FILES}, None, ["hashmap", "rocksdb"]),
    ],
)
def test_the_backends_that_are_tried_restore_what_a_snapshot_holds(
    formats: dict[str, KeyedFormat], backend: str | None, tried: list[str]
) -> None:
    old = program("savepoint", snapshot=Snapshot(path="_metadata", format_version=4, formats=formats))
    new = program("new.jar", settings={"state.backend.type": backend})
    judged: list[str | None] = []

    def judge(_old: Program, new: Program, _options: CheckOptions) -> tuple[Report, frozenset[Asked]]:
        judged.append(new.settings.get("state.backend.type"))
        return report(Verdict.COMPATIBLE), frozenset({Asked.BACKEND})

    under_assumptions(old, new, CheckOptions(), judge)
    assert judged == [backend, *tried]
