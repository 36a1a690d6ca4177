"""The folder of replicas is its owner's alone: tasks trust what is in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from compat.compiler.spark.task.epochs import default_replicas


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_made_for_its_owner_only(folder: Path) -> None:
    path = Path(default_replicas())

    assert path.parent == folder
    assert path.stat().st_mode & 0o777 == 0o700
    assert default_replicas() == str(path)


def test_a_folder_that_others_may_write_is_refused(folder: Path) -> None:
    Path(default_replicas()).chmod(0o777)

    with pytest.raises(PermissionError, match="open to others"):
        default_replicas()


def test_a_link_is_refused(folder: Path) -> None:
    path = Path(default_replicas())
    path.rmdir()
    path.symlink_to(folder)

    with pytest.raises(PermissionError, match="open to others"):
        default_replicas()
