"""Uids that a connector draws at random."""

from __future__ import annotations

from uuid import UUID

import pytest

from compat.check.decision import check
from tests.compat.builders import operator, program

ONE, OTHER = (str(UUID(int=number, version=4)) for number in (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "drawn"),
    [
        (f"Sink pre-commit topology: {ONE}", f"Sink pre-commit topology: {OTHER}", True),
        (ONE, OTHER, True),
        (ONE, ONE, False),
        (f"{ONE}-writer", f"{OTHER}-committer", False),
        ("writer-1", "writer-2", False),
    ],
)
def test_a_uuid_in_a_uid(old: str, new: str, drawn: bool) -> None:
    sides = (program(name, operator("Writer", uid=uid)) for name, uid in (("v1.jar", old), ("v2.jar", new)))
    found = [finding for finding in check(*sides).findings if finding.rule == "CMP108"]
    assert bool(found) == drawn
    assert not drawn or old in found[0].reason
