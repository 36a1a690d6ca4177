"""What is unpacked stays in its folder, on every Python that the package is for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from compat.state.tar import tarfile


def archive(name: str, link: str = "") -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as writing:
        member = tarfile.TarInfo(name)
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, link
        writing.addfile(member, io.BytesIO())
    made.seek(0)
    return made


@pytest.mark.parametrize("filter", ["data", "tar"])
def test_what_lies_inside_is_unpacked(tmp_path: Path, filter: str) -> None:
    with tarfile.open(fileobj=archive("a/b")) as packed:
        packed.extractall(tmp_path / "in", filter=filter)
    assert (tmp_path / "in" / "a" / "b").is_file()


@pytest.mark.parametrize(("filter", "link"), [("data", ""), ("tar", ""), ("data", "../../out")])
def test_what_reaches_out_is_refused(tmp_path: Path, filter: str, link: str) -> None:
    with tarfile.open(fileobj=archive("a" if link else "../out", link)) as packed, pytest.raises(tarfile.TarError):
        packed.extractall(tmp_path / "in", filter=filter)
    assert not (tmp_path / "out").exists()
