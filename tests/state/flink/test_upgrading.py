"""Metadata of Flink 1 in the first format of Flink 2: the same operators, of which nobody knows names and uids."""

from __future__ import annotations

import pytest

from compat.state.flink import NewId, NotWritten, read_draft, read_metadata
from compat.state.flink.remapping import with_references, write_folder
from compat.state.flink.rewriting import Changes, draft_of
from compat.state.flink.upgrading import of_flink_2
from tests.state.flink.conftest import GOLDEN as SAVEPOINTS

SAVED = SAVEPOINTS / "flink_1_20_small_uid_canonical"


def test_all_but_the_format_stays() -> None:
    draft = read_draft(read_metadata(SAVED))
    later = of_flink_2(draft)
    assert (draft.savepoint.format_version, later.savepoint.format_version) == (4, 5)
    assert later.savepoint.operators == draft.savepoint.operators
    assert later.savepoint.properties == draft.savepoint.properties
    assert len(later.data) == len(draft.data) + 4 * len(draft.savepoint.operators)
    assert list(later.files()) == list(draft.files())


def test_an_operator_can_have_a_uid_afterwards(tmp_path) -> None:
    later = of_flink_2(read_draft(read_metadata(SAVED)))
    first = later.savepoint.operators[0]
    made = with_references(later, Changes(ids={first.id: NewId("ab" * 16, "new")}))
    write_folder(str(tmp_path / "out"), made)
    assert [one.uid for one in read_metadata(tmp_path / "out").operators if one.id == "ab" * 16] == ["new"]


def test_metadata_without_operators() -> None:
    draft = read_draft(read_metadata(SAVED))
    every = frozenset(operator.id for operator in draft.savepoint.operators)
    without = with_references(draft, Changes(dropped=every)).metadata
    assert of_flink_2(draft_of(without, draft.savepoint)).savepoint.operators == ()


@pytest.mark.parametrize("name", ["small_uid_p2_canonical_as_v3", "small_uid_p2_canonical_as_v5"])
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(NotWritten, match="does not become that of Flink 2"):
        of_flink_2(read_draft(read_metadata(SAVEPOINTS / name)))
