"""Which snapshot of a job is the latest."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.savepoint.folders import newer_snapshot

MAGIC = bytes.fromhex("4960672d")


def put(folder: Path, name: str, checkpoint_id: int) -> str:
    """A snapshot with no more than the head of its metadata."""
    (folder / name).mkdir()
    (folder / name / "_metadata").write_bytes(MAGIC + (6).to_bytes(4) + checkpoint_id.to_bytes(8))
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "checkpoint_id", "newer"),
    [
        ("chk-7", 7, "chk-12"),
        ("chk-12", 12, None),
        ("savepoint-1a2b3c-000000000001", 8, "savepoint-1a2b3c-000000000002"),
        ("savepoint-1a2b3c-000000000002", 9, None),
        ("savepoint-ffffff-000000000001", 1, None),
        ("copied", 1, None),
    ],
)
def test_the_latest_of_the_same_job(tmp_path: Path, name: str, checkpoint_id: int, newer: str | None) -> None:
    places = {
        place: put(tmp_path, place, id)
        for place, id in [
            ("chk-7", 7),
            ("chk-12", 12),
            ("savepoint-1a2b3c-000000000001", 8),
            ("savepoint-1a2b3c-000000000002", 9),
            ("savepoint-ffffff-000000000001", 1),
            ("copied", 99),
        ]
    }
    (tmp_path / "chk-99").mkdir()
    (tmp_path / "chk-98").mkdir()
    (tmp_path / "chk-98" / "_metadata").write_bytes(b"cut")
    assert newer_snapshot(places[name], checkpoint_id) == (None if newer is None else places[newer])


def test_a_folder_that_is_gone_has_no_neighbours(tmp_path: Path) -> None:
    assert newer_snapshot(str(tmp_path / "gone" / "chk-1"), 1) is None
