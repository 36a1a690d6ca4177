"""A state is read by what declares it: kinds first, keys of maps as they are, and its rows in the log."""

from __future__ import annotations

from typing import Any

import pytest

from compat.state.compatibility import Answer, resolve_state
from compat.state.compatibility.migration import migration_of, state_migration
from compat.state.rows import make_row
from compat.state.serializers import codec_of
from compat.state.types import ExternalTypeInfo, TypeInformation, Types

T = Types
L, S, BIG = T.LONG(), T.STRING(), T.BIG_INT()
AB, ABC = T.ROW_NAMED(["a", "b"], [L, L]), T.ROW_NAMED(["c", "b", "a"], [S, BIG, L])


def state(type: TypeInformation, kind: str = "VALUE", **more: Any) -> dict[str, Any]:
    return {"name": "n", "kind": kind, "type": type.to_json(), **more}


@pytest.mark.parametrize(
    ("old", "new", "answer", "changes"),
    [
        (state(L), state(L), Answer.AS_IS, ()),
        (state(L), state(BIG), Answer.AFTER_MIGRATION, ("Long is converted to BigInteger",)),
        (state(L), state(S), Answer.INCOMPATIBLE, ("Long became String",)),
        (state(L), state(L, "LIST"), Answer.INCOMPATIBLE, ("a value state became a list state",)),
        (state(T.MAP(S, L), "MAP"), state(T.MAP(S, L), "MAP"), Answer.AS_IS, ()),
        (state(T.MAP(S, L), "MAP"), state(T.MAP(S, BIG), "MAP"), Answer.AFTER_MIGRATION,
         ("the values: Long is converted to BigInteger",)),
        (state(T.MAP(S, L), "MAP"), state(T.MAP(L, L), "MAP"), Answer.INCOMPATIBLE, ("the keys: String became Long",)),
        (state(T.MAP(L, S), "MAP"), state(T.MAP(BIG, S), "MAP"), Answer.INCOMPATIBLE,
         ("the keys: Long is converted to BigInteger", "the keys: the keys of a map state are not migrated")),
        (state(T.MAP(L, S)), state(T.MAP(BIG, S)), Answer.AFTER_MIGRATION, ("the keys: Long is converted to BigInteger",)),
    ],
)  # fmt: skip
def test_what_a_declaration_makes_of_a_state(
    old: dict[str, Any], new: dict[str, Any], answer: Answer, changes: tuple[str, ...]
) -> None:
    found = resolve_state(old, new)
    assert (found.answer, found.changes) == (answer, changes)
    assert found.readable is (answer is not Answer.INCOMPATIBLE)
    if found.readable:
        assert (state_migration(old, new) is None) is (answer is Answer.AS_IS)
    else:
        with pytest.raises(ValueError, match="State 'n' cannot be read: "):
            state_migration(old, new)


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        (L, BIG, -300, -300),
        (T.TUPLE([L, S]), T.TUPLE([BIG, S]), (-5, "a"), (-5, "a")),
        (T.MAP(L, L), T.MAP(BIG, BIG), {1: -2, 300: None}, {1: -2, 300: None}),
        (T.MAP(L, S), T.MAP(BIG, S), {1: "a", 2: "b", 3: "c"}, {1: "a", 2: "b", 3: "c"}),
        (T.LIST(L), T.LIST(BIG), [1, -2], [1, -2]),
        (T.ROW([L, S]), T.ROW([BIG, S]), make_row(("f0", "f1"), 0, [7, "a"]), make_row(("f0", "f1"), 0, [7, "a"])),
        (AB, ABC, make_row(("a", "b"), 1, [-1, None]), make_row(("c", "b", "a"), 1, [None, None, -1])),
        (ExternalTypeInfo(AB), ABC, make_row(("a", "b"), 0, [1, 2]), make_row(("c", "b", "a"), 0, [None, 2, 1])),
        (AB, ExternalTypeInfo(ABC), make_row(("a", "b"), 0, [1, 2]), make_row(("c", "b", "a"), 0, [None, 2, 1])),
        (T.LIST(ExternalTypeInfo(L)), T.LIST(BIG), [1], [1]),
        (T.LIST(L), T.LIST(ExternalTypeInfo(BIG)), [1], [1]),
    ],
)
def test_a_value_is_migrated(old: TypeInformation, new: TypeInformation, value: Any, expected: Any) -> None:
    migrate = migration_of(old, new)
    assert migrate is not None
    assert codec_of(new).decode(migrate(codec_of(old).encode(value))) == expected


@pytest.mark.parametrize(
    ("scope", "before", "after"),
    [
        ("keyed", b"\1" + codec_of(L).encode(2**62), b"\1" + codec_of(BIG).encode(2**62)),
        ("keyed", b"\0", b"\0"),
        ("broadcast", codec_of(L).encode(-2), codec_of(BIG).encode(-2)),
    ],
)
def test_the_rows_of_a_map_state_are_its_entries(scope: str, before: bytes, after: bytes) -> None:
    migrate = state_migration(state(T.MAP(S, L), "MAP", scope=scope), state(T.MAP(S, BIG), "MAP", scope=scope))
    assert migrate is not None
    assert migrate(before) == after


def test_a_map_in_a_value_state_is_one_value() -> None:
    migrate = state_migration(state(T.MAP(S, L)), state(T.MAP(S, BIG)))
    assert migrate is not None
    assert codec_of(T.MAP(S, BIG)).decode(migrate(codec_of(T.MAP(S, L)).encode({"a": 1}))) == {"a": 1}


def test_what_cannot_be_read_is_not_migrated() -> None:
    with pytest.raises(ValueError, match="String cannot read what Long wrote: Long became String"):
        migration_of(L, S)
