"""State that functions ask for when records come, told before the first: as Flink keeps it in a savepoint with values.

``asked/savepoint`` is what Flink 2.3.0 wrote of the program after some seconds.
"""

import zipfile
from types import SimpleNamespace

import pytest

from compat.check.findings import Level
from compat.comparison import Comparison, decide
from compat.loader.inputs import Input, InputKind
from compat.loader.jvm import asking
from compat.loader.jvm.answers import answers_of
from compat.loader.jvm.classfile import ClassFile
from compat.loader.jvm.dataflow import TooLong
from compat.loader.jvm.messages import JarProgram, Restore
from compat.loader.jvm.plans import plan_of
from compat.savepoint.load import read_old
from compat.savepoint.names import Names
from compat.savepoint.recorded import read
from compat.sides import Savepoint
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import built

ASKED = JAVA / "asked"
SAVEPOINT = str(ASKED / "savepoint")
DAY = 86_400_000
TOLD = {
    "Constants": {"long", "map", "hint"},
    "OfFields": {"of-given"},
    "InHelper": {"first", "second"},
    "Lazily": {"lazily"},
    "OfStatics": {"static"},
    "InList": {"one", "two"},
    "InMap": {"mapped-x", "mapped-y"},
    "OfSupplier": {"supplied"},
    "Folding": {"folded"},
    "Inherited": {"instead"},
    "Elsewhere": {"inner"},
    "Behind": {"behind"},
    "Changing": {"before", "after"},
    "InWindows": {"window-contents", "seen", "of-window", "of-key"},
    "Counting": {"window-contents", "counted"},
}
NOT_TOLD = {
    "ByName": "Asked.ByName asks for state in see(), when records come",
    "TwoTypes": "the state 'both' is asked for in different ways",
    "Foreign": "Asked.Foreign asks for state in see(), when records come",
    "Growing": "Asked.Growing asks for state in see(), when records come",
}


@pytest.fixture(scope="module")
def outcome(flink, java):
    from compat.loader.jvm.process import JvmOptions

    program = JarProgram(path=str(ASKED / "asked.jar"), main_class="shop.asked.Asked")
    (found,) = built([(program, [Restore(folder=SAVEPOINT)])], flink, java, JvmOptions(options={}))
    assert found.crash is None
    return found


@pytest.fixture(scope="module")
def nodes(outcome):
    return {node.uid: node for node in outcome.jobs[0].nodes}


def keyed(node):
    return {state.name: state for state in node.states.states if state.scope == "keyed"}


@pytest.mark.parametrize("uid", TOLD)
def test_states_are_told_where_all_descriptors_are_known(nodes, uid):
    assert nodes[uid].states.more is None
    assert keyed(nodes[uid]).keys() == TOLD[uid]


@pytest.mark.parametrize("uid", NOT_TOLD)
def test_there_may_be_more_where_one_is_not_known(nodes, uid):
    assert nodes[uid].states.more.why == NOT_TOLD[uid]
    assert keyed(nodes[uid]).keys() == set()


def test_flink_keeps_these_when_records_came():
    kept = {
        operator.uid: {state.name for state in operator.states if not state.name.startswith("_timer_state")}
        for operator in read(SAVEPOINT).operators
    }
    assert {uid: kept[uid] for uid in TOLD} == TOLD
    assert all(kept[uid] for uid in NOT_TOLD)


def test_flink_restores_them_by_what_is_told(outcome, nodes):
    answers = answers_of(outcome.restored[0], {node.id: node for node in nodes.values()})
    old = Savepoint(read_old(Input(SAVEPOINT, SAVEPOINT, InputKind.SAVEPOINT), Names()))
    report = decide(old, plan_of(outcome.jobs[0], "new"), Comparison("old", "new"), {}, answers)
    found = {(one.level, one.rule, one.new.uid, one.state) for one in report.findings if one.level.rank <= 1}
    # What NEW may still ask for is no loss.
    assert found == {
        (Level.UNKNOWN, "CMP431", uid, state)
        for uid, state in (("ByName", "n0"), ("TwoTypes", "both"), ("Foreign", "of-library"), ("Growing", "grown-0"))
    }


def test_a_time_to_live_is_told(nodes):
    assert keyed(nodes["OfFields"])["of-given"].use.ttl == 5 * DAY


def test_the_function_of_a_lambda_is_not_taken_for_another(nodes):
    assert keyed(nodes["Folding"])["folded"].use.function is None


def test_only_code_that_an_operator_can_come_to_decides_what_more_it_keeps(nodes, flink, java, tmp_path):
    from compat.loader.jvm.process import JvmOptions
    from tests.compat.loader.jvm.support import build

    def code(name):
        """The digests when the code of a class is another one."""
        path = tmp_path / f"{name}.jar"
        with zipfile.ZipFile(ASKED / "asked.jar") as given, zipfile.ZipFile(path, "w") as made:
            for entry in given.namelist():
                data = given.read(entry)
                # A text that only makes the class another one.
                made.writestr(
                    entry, data.replace(b"SourceFile", b"SourceFilf") if entry.endswith(f"{name}.class") else data
                )
        outcome = build(JarProgram(path=str(path), main_class="shop.asked.Asked"), flink, java, JvmOptions(options={}))
        return {node.uid: node.states.more.code for node in outcome.jobs[0].nodes if node.uid in NOT_TOLD}

    before = {uid: nodes[uid].states.more.code for uid in NOT_TOLD}
    assert code("Asked$InList") == before
    other = code("Library")
    assert {uid for uid in NOT_TOLD if other[uid] != before[uid]} == {"Foreign"}


def test_code_without_end_is_not_called_known(monkeypatch):
    """What was not looked through may ask for anything."""
    with zipfile.ZipFile(ASKED / "asked.jar") as archive:
        file = ClassFile(archive.read("shop/asked/Asked$ByName.class"))
    monkeypatch.setattr(asking, "_MOST_METHODS", 1)
    nothing = SimpleNamespace(own=lambda _: None)
    assert len(asking._reached(nothing, file.methods[:1])) == 1
    with pytest.raises(TooLong):
        asking._reached(nothing, file.methods)
    monkeypatch.setattr(asking, "_followed", lambda *_: asking._reached(nothing, file.methods))
    assert asking._later(None, in_windows=False).why.endswith("leads to more code than can be followed")
