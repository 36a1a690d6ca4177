"""The facts of a savepoint in the words of the new program, as far as it says the same."""

from __future__ import annotations

import shutil

import pytest
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check as decide
from compat.check.findings import Level, Report, Verdict
from compat.loader.inputs import LoadOptions, load, opened
from compat.plan.facts import facts_of
from compat.plan.shapes import Shape
from compat.savepoint import facts
from compat.savepoint.recorded import read
from compat.state.model.states import StateKind
from compat.state.names import JAVA_GLOBAL_WINDOW
from tests.compat.savepoint.conftest import CLUSTER, saved


def loaded(program, tmp_path, flink="2.3"):
    path = tmp_path / "job.py"
    path.write_text(program, encoding="utf-8")
    with opened(str(path)) as given:
        (plan,) = load(given, LoadOptions(options=CLUSTER, flink=flink))
    return facts_of(plan, name="job.py", kind="program")


def errors(report):
    assert isinstance(report, Report), report
    return {finding.rule for finding in report.findings if finding.level is Level.ERROR}


def test_containers_become_the_declared_kinds_and_types_stay_unknown_unless_the_values_tell_them(tmp_path):
    written = saved("all_states_hashmap_canonical")
    old = facts.program(read(str(written["path"])), "savepoint", loaded(written["program"], tmp_path))
    operator = next(one for one in old.operators if one.uid == "everything")
    own = {state.name: state for state in operator.states if not state.built_in}
    assert {name: state.kind for name, state in own.items()} == {
        "last": StateKind.VALUE,
        "last-ttl": StateKind.VALUE,
        "items": StateKind.LIST,
        "seen": StateKind.MAP,
        "plain": StateKind.MAP,
        "total": StateKind.REDUCING,
        "avg": StateKind.AGGREGATING,
    }
    told = {name: state.type for name, state in own.items() if state.type is not None}
    assert told == {"last": "Long", "total": "Long", "avg": "PickledByteArrayTypeInfo"}
    assert {name for name, state in own.items() if state.ttl is not None} == {"last-ttl", "seen"}
    assert {state.key_type for state in own.values()} == {"Row(f0: String)"}
    assert old.kind == "savepoint"
    assert old.settings["python.execution-mode"] == "process"


def test_another_container_is_a_finding(check):
    written = saved("small_uid_p2_canonical")
    program = written["program"].replace(
        'get_state(ValueStateDescriptor("count", Types.LONG()))',
        'get_map_state(MapStateDescriptor("count", Types.LONG(), Types.LONG()))',
    )
    program = program.replace("import ValueStateDescriptor", "import MapStateDescriptor")
    assert errors(check(written["path"], program)) == {"CMP403"}


def test_a_value_that_became_a_list_is_not_noticed_as_flink_does_not(check):
    written = saved("small_uid_p2_canonical")
    program = written["program"].replace(
        'get_state(ValueStateDescriptor("count"', 'get_list_state(ListStateDescriptor("count"'
    )
    program = program.replace("import ValueStateDescriptor", "import ListStateDescriptor")
    assert check(written["path"], program, options=written["configuration"]).verdict is Verdict.COMPATIBLE


def test_thread_mode_has_types_and_does_not_go_into_process_mode(check):
    written, process = saved("all_states_thread_canonical"), saved("all_states_hashmap_canonical")
    retyped = written["program"].replace(
        'ValueStateDescriptor("last", Types.LONG())', 'ValueStateDescriptor("last", Types.STRING())'
    )
    assert errors(check(written["path"], retyped)) == {"CMP404"}
    mode = 'config.set_string("python.execution-mode", "thread")'
    assert mode in written["program"]
    assert errors(check(written["path"], written["program"].replace(mode, ""))) == {"CMP603"}
    assert errors(check(process["path"], process["program"], options={"python.execution-mode": "thread"})) == {"CMP603"}


@pytest.mark.parametrize(("flink", "refused"), [("2.3", True), ("1.20", False)])
def test_the_global_windows_of_flink_1_20_are_another_class_in_2_3(flink, refused, tmp_path):
    written = saved("windows_no_uid_p3_canonical")
    new = loaded(written["program"], tmp_path, flink)
    recorded = read(str(written["path"]))
    legacy = Shape(JAVA_GLOBAL_WINDOW)
    operators = tuple(
        replace(
            operator,
            states=tuple(
                replace(state, namespace=legacy) if state.namespace == Shape("GlobalWindow") else state
                for state in operator.states
            ),
        )
        for operator in recorded.operators
    )
    report = decide(
        facts.program(replace(recorded, operators=operators), "savepoint", new), new, CheckOptions(flink=flink)
    )
    found = {
        finding.new.name for finding in report.findings if finding.rule == "CMP407" and finding.level is Level.ERROR
    }
    assert found == ({"GlobalWindows"} if refused else set())


def test_files_of_dropped_state_may_be_missing(check, tmp_path):
    written = saved("broadcast_p2_native_files")
    folder = shutil.copytree(written["path"], tmp_path / "savepoint")
    for path in folder.iterdir():
        if path.name != "_metadata":
            path.unlink()
    program = written["program"].replace('uid("keyed")', 'uid("a")').replace('uid("plain")', 'uid("b")')
    report = check(folder, program.replace('uid("events")', 'uid("c")'), allow_non_restored=True)
    assert "CMP502" not in {finding.rule for finding in report.findings}
    assert errors(check(folder, written["program"])) == {"CMP502"}


def test_empty_timer_queues_are_seen_to_be_empty(check):
    written = saved("stateless_keyed_canonical")
    line = 'k.map(lambda x: x, L).uid("keyed map").print().uid("o1")\n'
    assert line in written["program"]
    (finding,) = [
        one for one in check(written["path"], written["program"].replace(line, "")).findings if one.rule == "CMP101"
    ]
    assert finding.level is Level.ERROR
    assert "Its state is empty timer queues" in finding.reason
    assert finding.fixes[0].text.startswith("Restore with -n: nothing is lost")


def test_several_jobs_need_a_number(check):
    written = saved("small_uid_p2_canonical")
    twice = written["program"].replace("\n    main()\n", "\n    main()\n    main()\n")
    outcome = check(written["path"], twice)
    assert not isinstance(outcome, Report)
    assert "a savepoint is of one" in outcome.failures[0].message
    assert check(written["path"], twice, job=1).verdict is Verdict.COMPATIBLE
