"""The way back: a recipe and its inverse give the values back where none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.going_back import Inverse, inverse_of, told_back, written_back
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    DropOperator,
    DropState,
    MoveState,
    Open,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
    read_recipe,
)
from compat.migration.resolving import resolve
from compat.savepoint.names import Names
from compat.savepoint.operators import Operators
from compat.state.flink import entries, read_draft, read_metadata, with_references
from compat.state.flink.remapping import unfinished
from compat.state.flink.transferring import write_states
from tests.compat.builders import operator, program, value_state
from tests.compat.migration.conftest import JAVA, Pairs

SAVED = Path(__file__).parents[2] / "golden" / "savepoints" / "small_uid_p2_canonical"


def inverse(*steps: Step, savepoint: Path = SAVED) -> Inverse:
    return inverse_of(Recipe(steps=steps), Operators(read_metadata(savepoint), Names()))


def moved(savepoint: Path, steps: Sequence[Step], out: Path) -> Path:
    """A savepoint as a recipe makes it, whatever program it is for."""
    draft = read_draft(read_metadata(savepoint))
    with ExitStack() as stack, unfinished(str(out)) as making:
        functions = Functions(LoadOptions(), stack)
        transfer = resolve(Recipe(steps=tuple(steps)), draft.savepoint, Names(), functions).transfer
        making.take(with_references(draft, write_states(draft.savepoint, transfer, making.folder).changes))
        making.finish()
    return out


def values(savepoint: Path) -> list[tuple[object, ...]]:
    found = entries(read_metadata(savepoint))
    return sorted(
        ((one.state.operator_id, one.state.name, one.key_group, one.key, repr(one.value)) for one in found), key=repr
    )


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [RenameState(operator="count", state="count", to="total")],
        [RenameState(operator="Count", state="python-state-count", to="total")],
        [RenameOperator(operator="Count", to="counter")],
        [RenameOperator(operator="count", to="ab" * 16), RenameState(operator="count", state="count", to="n")],
        [MoveState(operator="count", state="count", to="elsewhere")],
        [MoveState(operator="count", state="count", to="elsewhere", name="n")],
        [MoveState(operator="count", state="count", to="elsewhere"), RenameOperator(operator="count", to="counter")],
        [
            MoveState(operator="count", state="count", to="Source: n", name="n"),
            RenameOperator(operator="Source: n", to="numbers again"),
        ],
    ],
)
def test_a_recipe_and_its_inverse_give_the_values_back(steps: list[Step], tmp_path: Path) -> None:
    there = moved(SAVED, steps, tmp_path / "there")
    assert (values(there) == values(SAVED)) == (steps == [])
    back = inverse(*steps)
    assert (back.recipe.questions, back.lost) == ((), ())
    assert values(moved(there, back.recipe.steps, tmp_path / "back")) == values(SAVED)


def test_names_of_types_change_back() -> None:
    back = inverse(RenameField(owner="A", name="f", to="g"), RenameClass(name="A", to="B"))
    assert back.recipe.steps == (RenameField(owner="B", name="g", to="f"), RenameClass(name="B", to="A"))


def test_fields_go_back_to_their_names_and_new_ones_go() -> None:
    step = ConvertState(operator="count", state="count", fields={"name": "f0"}, constants={"last": 0})
    renamed = RenameState(operator="count", state="count", to="n")
    back = inverse(step, renamed)
    undone = ConvertState(operator="count", state="n", fields={"f0": "name"}, without=("last",))
    assert (back.recipe.steps[0], back.lost) == (undone, ())
    key = ConvertKey(operator="count", fields={"a": "f0", "b": "f0"}, single="f1")
    assert inverse(key).recipe.steps == (ConvertKey(operator="count", fields={"f0": "a"}, without=("b",), single="f1"),)


def test_what_went_is_asked() -> None:
    back = inverse(ConvertState(operator="count", state="count", without=("extra",)))
    (one,) = back.proposals
    assert one.step == Open(question="What do extra of count of count begin with?")
    assert one.instead == (ConvertState(operator="count", state="count", constants={"extra": None}),)
    assert back.lost == ("The values of extra in count of count went.",)


def test_an_entry_of_a_map_is_no_single_value_again() -> None:
    (one,) = inverse(ConvertState(operator="count", state="count", entry="k")).proposals
    assert one.step == Open(question="The values of count of count became entries of a map: may they go?")
    assert one.instead == (DropState(operator="count", state="count"),)


@pytest.mark.parametrize("fields", [{"fields": {"f1": "row.f2"}}, {"without": ("f1", "row.f2")}])
def test_rows_beside_which_nobody_counts_any_more_can_only_go(fields: dict[str, Any]) -> None:
    (one,) = inverse(ConvertState(operator="count", state="count", single="f0", **fields)).proposals
    assert one.step == Open(question="The rows of count of count are no longer beside a number: may they go?")
    assert one.instead == (DropState(operator="count", state="count"),)


def test_what_was_dropped_is_lost_and_asks_for_nothing() -> None:
    back = inverse(DropState(operator="count", state="count"), DropOperator(operator="Source: n"))
    assert back.recipe.steps == ()
    assert back.lost == (
        "The state 'count' of 'count' was dropped, and starts empty.",
        "What 'Source: n' kept was dropped but for what was moved, and starts empty.",
    )


def test_what_a_function_made_another_one_gives_back() -> None:
    keys = ConvertKey(operator="count", function="/f.py:short", merge={"count": "sum"})
    back = inverse(ConvertState(operator="count", state="count", function="/f.py:counted", drops=True), keys)
    assert [one.step for one in back.proposals] == [
        Open(question="Which function gives back what counted made of count of count?"),
        Open(question="Which function gives back what short made of count?"),
    ]
    assert [one.instead for one in back.proposals] == [
        (ConvertState(operator="count", state="count", function="functions.py:convert"),),
        (ConvertKey(operator="count", function="functions.py:convert"),),
    ]
    assert back.lost == (
        "Values of count of count that the function let go start empty.",
        "Values of count whose keys became one stay one.",
    )


def test_keys_that_were_dropped_are_lost() -> None:
    back = inverse(DropKeys(operator="count", keys=(1,)))
    assert (back.recipe.steps, back.lost) == ((), ("Keys of 'count' were dropped, and start empty.",))


def test_windows_that_became_one_stay_one() -> None:
    back = inverse(ConvertWindows(operator="count", size="5 min"))
    assert (back.recipe.steps, back.lost) == ((), ("Windows of 'count' that became one stay one.",))


def test_a_state_of_an_operator_that_went_goes_back_to_it(tmp_path: Path) -> None:
    steps = [MoveState(operator="count", state="count", to="elsewhere"), DropOperator(operator="count")]
    there = moved(SAVED, steps, tmp_path / "there")
    back = moved(there, inverse(*steps).recipe.steps, tmp_path / "back")
    kept = [one for one in values(SAVED) if one[1] == "python-state-count"]
    assert kept
    assert [one for one in values(back) if one[1] == "python-state-count"] == kept


def test_the_file_is_a_recipe_that_tells_what_is_lost(tmp_path: Path) -> None:
    back = inverse(RenameState(operator="count", state="count", to="n"), DropOperator(operator="Source: n"))
    file = tmp_path / "back.yaml"
    file.write_text(written_back(back, "old.py", "new.py", "compat migrate sp old.py back --recipe back.yaml"))
    assert read_recipe(str(file)) == back.recipe
    assert "# What 'Source: n' kept was dropped" in file.read_text()
    assert "#   compat migrate sp old.py back --recipe back.yaml\n" in file.read_text()


def test_a_report_on_the_way_back_tells_whether_a_recipe_goes_it() -> None:
    def told(old: str, new: str, *more: str) -> tuple[str, ...]:
        before = operator("Count", uid="count", states=[value_state(name) for name in (old, *more)])
        after = operator("Count", uid="count", states=[value_state(new)])
        return told_back(check(program("new", before), program("old", after), CheckOptions(direction="rollback")))

    assert told("n", "n") == ()
    (renamed,) = told("n", "total")
    assert renamed.endswith("is called 'total' now. A recipe may take it back (rename-state).")
    (gone,) = told("n", "n", "other")
    assert gone.endswith("No recipe takes it back: it can only be dropped.")
    assert told(*["n"] * 2, *(f"other {number}" for number in range(10)))[-1] == "So it is with 2 more."


@pytest.mark.parametrize(
    ("pair", "step"),
    [
        ("pojo_field_renamed", RenameField(owner="PojoFieldRenamed$P", name="score", to="points")),
        (
            "tuple_to_pojo",
            ConvertState(operator="val", state="st", fields={"name": "f0", "n": "f1"}, constants={"last": 0}),
        ),
        ("key_tuple_to_single", ConvertKey(operator="count", single="f0")),
        ("date_to_instant", ConvertState(operator="val", state="st")),
    ],
)
def test_values_of_java_go_back(pair: str, step: Step, pairs: Pairs, tmp_path: Path) -> None:
    savepoint = JAVA / pair / "savepoint"
    assert pairs.migrate(pair, tmp_path, step).kept
    back = inverse(step, savepoint=savepoint)
    assert pairs.go_back(pair, tmp_path / "out", tmp_path, *back.recipe.steps).kept
    assert values(tmp_path / "back") == values(savepoint)
    assert values(tmp_path / "out") != values(savepoint)
