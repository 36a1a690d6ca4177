"""Savepoints may come from anybody: whatever their bytes are, a check of them ends in a report or in our own error."""

from __future__ import annotations

import ast
import os
import random
import struct
from pathlib import Path

import pytest

import compat.savepoint
from compat.check.context import CheckOptions
from compat.check.decision import check as decide
from compat.check.findings import Report, Verdict
from compat.loader.inputs import LoadOptions, load, opened
from compat.plan.facts import facts_of
from compat.report import NAMES, ReportContext, render
from compat.savepoint import facts
from compat.savepoint.recorded import recorded
from compat.state.flink import SavepointError, parse_metadata
from tests.compat.savepoint.conftest import CLUSTER, saved

MODULES = sorted(Path(compat.savepoint.__file__).parent.glob("*.py"))
MUTATIONS = 300


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The facts of the programs that wrote some savepoints, by the savepoints' names."""
    loaded = {}
    for name in ("windows_no_uid_p3_canonical", "broadcast_p2_native_files"):
        path = tmp_path_factory.mktemp(name) / "job.py"
        path.write_text(saved(name)["program"], encoding="utf-8")
        with opened(str(path)) as given:
            (plan,) = load(given, LoadOptions(options=CLUSTER))
        loaded[name] = facts_of(plan, name="job.py", kind="program")
    return loaded


def mutated(data, chance):
    """Some of: a flipped bit, a lying number, bytes gone, bytes from elsewhere, the end cut off."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        match chance.randrange(8):
            case 0 | 1 | 2:
                data[at] ^= 1 << chance.randrange(8)
            case 3 | 4:
                data[at : at + 4] = struct.pack(">i", chance.choice([0, 1, -1, 2**31 - 1, -(2**31), 65536]))
            case 5:
                del data[at : at + chance.randrange(1, 9)]
            case 6:
                other = chance.randrange(len(data))
                data[at:at] = data[other : other + chance.randrange(100)]
            case 7:
                del data[max(8, at) :]
    return bytes(data)


@pytest.mark.parametrize("name", ["windows_no_uid_p3_canonical", "broadcast_p2_native_files"])
def test_a_mutated_savepoint_is_judged_or_refused(name, programs):
    path, new = saved(name)["path"] / "_metadata", programs[name]
    data, chance = path.read_bytes(), random.Random(name)
    verdicts, offsets = set(), []
    for _ in range(MUTATIONS):
        try:
            read = recorded(parse_metadata(mutated(data, chance), str(path)))
        except SavepointError as error:
            offsets.append(error.offset)
            continue
        report = decide(facts.program(read, "savepoint", new), new, CheckOptions(), {})
        verdicts.add(report.verdict)
        form = chance.choice([one for one in NAMES if one != "html"])
        assert isinstance(render(form, [report], ReportContext(sources={})), str)
    assert Verdict.INCOMPATIBLE in verdicts
    assert offsets
    assert None not in offsets


def test_a_planted_pickle_is_never_loaded(check, tmp_path, monkeypatch):
    written = saved("all_states_hashmap_canonical")
    data = (written["path"] / "_metadata").read_bytes()
    harmless = bytes.fromhex("80049508000000000000004d2e2c4b5786942e")
    gadget = b"\x80\x04cos\ngetlogin\n(tR."
    assert harmless in data
    assert len(gadget) == len(harmless)
    (tmp_path / "_metadata").write_bytes(data.replace(harmless, gadget))
    touched = []
    monkeypatch.setattr(os, "getlogin", lambda: touched.append(1))
    report = check(tmp_path, written["program"])
    assert isinstance(report, Report)
    assert report.verdict is Verdict.UNKNOWN  # not all types are told; what is pickled is
    assert check(tmp_path, written["program"], names=written["program"]).verdict is Verdict.COMPATIBLE
    assert not touched


def test_names_from_a_savepoint_are_shown_and_not_obeyed(check, tmp_path):
    written = saved("small_uid_p2_canonical")
    data = (written["path"] / "_metadata").read_bytes()
    (tmp_path / "_metadata").write_bytes(data.replace(b"\0\5Count\0\5count", b"\0\5\x1b[2J:\0\5::err"))
    report = check(tmp_path, written["program"].replace('uid("count")', 'uid("total")'))
    for form in NAMES:
        assert "\x1b[2J" not in render(form, [report], ReportContext(sources={}))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_nothing_is_unpickled_or_run(module):
    imported = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert not imported & {"pickle", "cloudpickle", "marshal", "shelve", "socket", "subprocess", "http", "ctypes"}
