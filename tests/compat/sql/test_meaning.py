"""The words for what changed: nothing "was k and is k"."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from compat.check.sql.expressions import Column
from compat.check.sql.meaning import Stored, Words, kept, keys
from compat.check.sql.rows import Branch, Lineage

OF_A, OF_B = (Column(table * 32, "k") for table in "ab")
SIDE = cast(Lineage, SimpleNamespace(text=lambda one: one.place))
OTHER = cast(Lineage, SimpleNamespace(text=lambda one: "v"))


@pytest.mark.parametrize(
    ("after", "key", "rows"),
    [
        (SIDE, "the key is another k than before", "the rows that it keeps have another k than before"),
        (OTHER, "the key was k and is v", "the rows that it keeps had k and have v"),
    ],
)
def test_columns_of_one_name_are_no_two_things(after: Any, key: str, rows: str) -> None:
    words = Words(SIDE, after)
    assert [one.title for one in keys(((OF_A,),), ((OF_B,),), words, "the key")] == [key]
    old, new = (Stored((Branch("", (column,)),)) for column in (OF_A, OF_B))
    assert [one.title for one in kept(old, new, words)] == [rows]
    assert not [*keys(((OF_A,),), ((OF_A,),), words, "the key"), *kept(old, old, words)]
