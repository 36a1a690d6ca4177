"""Known findings, kept in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.check import baseline
from compat.check.findings import Level
from tests.compat.builders import finding, operator

COUNT, TOTAL = finding(new=operator("Count", uid="count")), finding(new=operator("Total", uid="total"))


def test_what_is_written_is_suppressed_when_read(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    assert baseline.write(path, [("", TOTAL), ("", COUNT), ("", COUNT)]) == 2
    before = path.read_text()
    baseline.write(path, [("", COUNT), ("", TOTAL)])
    assert path.read_text() == before
    kept, suppressed, notes = baseline.apply([COUNT], baseline.read(path), "job.py")
    assert kept == ()
    assert suppressed[0].ignored == "in the baseline"
    assert len(notes) == 1
    assert "is not found any more" in notes[0]
    assert list(tmp_path.iterdir()) == [path]


def test_new_findings_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    baseline.write(path, [("", COUNT)])
    assert baseline.apply([COUNT, TOTAL], baseline.read(path), "job.py")[0] == (TOTAL,)


def test_what_is_known_of_a_job_is_not_known_of_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    path = Path("baseline.json")
    assert baseline.write(path, [("jobs/a.py", COUNT), ("jobs/b.py", COUNT), ("jobs/b.py", TOTAL)]) == 3
    known = baseline.read(path)
    assert baseline.apply([COUNT, TOTAL], known, "jobs/a.py")[:2] == (
        (TOTAL,),
        (replace(COUNT, ignored="in the baseline"),),
    )
    assert baseline.apply([COUNT, TOTAL], known, "jobs/b.py")[0] == ()
    assert baseline.apply([], known, "jobs/c.py") == ((), (), ())
    assert baseline.apply([COUNT], known, "a.py")[0] == (COUNT,)
    monkeypatch.chdir("jobs")
    assert baseline.apply([COUNT, TOTAL], baseline.read(Path("../baseline.json")), "a.py")[0] == (TOTAL,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"baseline\.json:1: not a baseline: "),
        (b"{\n  nonsense", r"baseline\.json:2: "),
        (b"\xff", "not UTF-8"),
        (b"[]", "an object with 'format' and 'findings'"),
        (b'{"format": 2, "findings": []}', "baseline of format 2"),
        (b'{"format": 1, "findings": {}}', "must be a list"),
        (b'{"format": 1, "findings": [{"rule": "CMP101"}]}', "finding 1 has no 'fingerprint'"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_file_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(baseline.BaselineError, match=message):
        baseline.read(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(baseline.BaselineError, match="--write-baseline"):
        baseline.read(tmp_path / "none.json")
    with pytest.raises(baseline.BaselineError, match="cannot be written"):
        baseline.write(tmp_path / "none" / "baseline.json", [])
    with pytest.raises(baseline.BaselineError, match="cannot be read"):
        baseline.read(tmp_path)


def test_findings_without_an_operator_are_told_apart_by_what_they_are_about(tmp_path: Path) -> None:
    chaining = finding(
        "CMP601", Level.WARNING, "the option operator_chaining was True and is False", subject="operator_chaining"
    )
    merging = finding("CMP601", Level.WARNING, "the option file_merging was True and is False", subject="file_merging")
    untitled = finding("CMP602", Level.WARNING, "checkpoints are switched off")
    other = finding("CMP602", Level.WARNING, "checkpoints come half as often")
    path = tmp_path / "baseline.json"
    assert baseline.write(path, [("", chaining), ("", untitled)]) == 2
    assert baseline.apply([chaining, merging, untitled, other], baseline.read(path), "")[0] == (merging, other)


def test_two_uids_of_one_operator_are_two_findings() -> None:
    first, second = (finding("CMP110", new=operator("Count", uid="count"), subject=uid) for uid in ("a", "b"))
    assert first.fingerprint != second.fingerprint


def test_what_is_known_of_the_deployment_is_not_known_of_the_way_back() -> None:
    """A limit of key groups that differs is the same finding on both ways, but not the same decision."""
    count = operator("Count", uid="count")
    forward = finding("CMP301", old=count, new=count)
    assert forward.fingerprint != finding("CMP301", old=count, new=count, direction="rollback").fingerprint
    assert forward.fingerprint == "CMP301|count|count|"
