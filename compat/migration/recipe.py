"""Recipes: what happens to the state of a savepoint, step by step, as a small file in YAML.

    recipe: 1
    steps:
      - step: rename-state
        operator: counter
        state: total
        to: sum

All names are those of the savepoint, and all steps are done at once: nothing is renamed twice.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from compat.savepoint.operators import RequestError
from compat.state.flink.merging import Rule
from compat.state.safe_open import open_regular

FORMAT = 1
LARGEST_RECIPE = 1 << 20


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="step"):
    """One step; the file says which by its field ``step``."""


class RenameOperator(_Step, frozen=True, kw_only=True, tag="rename-operator"):
    """Gives an operator another id: ``to`` is a uid, or an id. The committers of a sink follow its uid."""

    operator: str
    to: str


class DropOperator(_Step, frozen=True, kw_only=True, tag="drop-operator"):
    """Drops an operator, with all its state that no other step moves."""

    operator: str


class RenameState(_Step, frozen=True, kw_only=True, tag="rename-state"):
    """Gives a state of an operator another name."""

    operator: str
    state: str
    to: str


class MoveState(_Step, frozen=True, kw_only=True, tag="move-state"):
    """Moves a state to another operator: one of the savepoint, or a new uid or id.

    ``name`` is its new name, if it changes.
    """

    operator: str
    state: str
    to: str
    name: str | None = field(default=None, name="as")


class DropState(_Step, frozen=True, kw_only=True, tag="drop-state"):
    """Drops a state."""

    operator: str
    state: str


class RenameClass(_Step, frozen=True, kw_only=True, tag="rename-class"):
    """Gives another name to a class of POJOs, of case classes or of enums, wherever a serializer names it."""

    name: str = field(name="class")
    to: str


class RenameField(_Step, frozen=True, kw_only=True, tag="rename-field"):
    """Gives another name to a field of a POJO, or to a constant of an enum. The class has its old name."""

    owner: str = field(name="class")
    name: str = field(name="field")
    to: str


class ConvertState(_Step, frozen=True, kw_only=True, tag="convert-state"):
    """Converts the values of a state to NEW's form, without losing any.

    For records, ``fields`` maps fields of NEW to those of OLD, ``constants`` has fields of NEW that OLD lacks, and
    ``without`` fields of OLD that are dropped. If only one side is a record, ``single`` is its field that corresponds
    to the other side. Values and
    lists become one another where they can, and single values entries of maps:
    ``entry`` is their key there. If only NEW has a time to live, it starts now.

    ``function`` may compute the values, as ``FILE.py:NAME``; with ``drops``, PyFlink values for which it gives None are
    dropped.
    """

    operator: str
    state: str
    fields: dict[str, str] = {}
    constants: dict[str, bool | int | float | str | None] = {}
    without: tuple[str, ...] = ()
    single: str | None = None
    entry: bool | int | float | str | None = None
    function: str | None = None
    drops: bool = False


class ConvertKey(_Step, frozen=True, kw_only=True, tag="convert-key"):
    """Rewrites the keys of an operator with NEW's serializer, each in the key group where NEW looks for it.

    ``fields``, ``constants``, ``without``, ``single`` and ``function`` are those of `ConvertState`. Two keys that would
    become equal are an error, unless ``merge`` says for each state what happens to their values: `Rule`, or a function.
    """

    operator: str
    fields: dict[str, str] = {}
    constants: dict[str, bool | int | float | str | None] = {}
    without: tuple[str, ...] = ()
    single: str | None = None
    function: str | None = None
    merge: dict[str, str] = {}


class DropKeys(_Step, frozen=True, kw_only=True, tag="drop-keys"):
    """Drops keys of an operator, with all their state and timers: those in a list, those with given fields, or those
    for which a function gives true. The keys are those of OLD.
    """

    operator: str
    keys: tuple[bool | int | float | str, ...] = ()
    fields: dict[str, bool | int | float | str | None] = {}
    function: str | None = None


class ConvertWindows(_Step, frozen=True, kw_only=True, tag="convert-windows"):
    """Merges open time windows of an operator into longer ones, of ``size`` (``5 min``), one of which begins at ``offset``.

    Each has to lie within one of these. ``merge`` says for each state how the values of several are merged, as in
    `ConvertKey`.
    """

    operator: str
    size: str
    offset: str = "0 ms"
    merge: dict[str, str] = {}


class MoveOffsets(_Step, frozen=True, kw_only=True, tag="move-offsets"):
    """Moves a Kafka source: to other topics, partitions or offsets.

    ``topics`` has new names by old ones, ``partitions`` (``orders-3``) maps old to new partitions, and ``offsets`` has
    the next offset of a partition, by its old name: a number, or ``earliest``, ``latest`` or ``committed``.
    """

    operator: str
    topics: dict[str, str] = {}
    partitions: dict[str, str] = {}
    offsets: dict[str, int | str] = {}


class Open(_Step, frozen=True, kw_only=True, tag="open"):
    """An unanswered question: a recipe with one of these is not carried out."""

    question: str
    operator: str | None = None
    state: str | None = None


Step = (
    RenameOperator
    | DropOperator
    | RenameState
    | MoveState
    | DropState
    | RenameClass
    | RenameField
    | ConvertState
    | ConvertKey
    | DropKeys
    | ConvertWindows
    | MoveOffsets
    | Open
)
STEPS: tuple[type[_Step], ...] = get_args(Step)


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The steps for a savepoint. ``format`` is that of the file."""

    format: int = field(name="recipe", default=FORMAT)
    steps: tuple[Step, ...] = ()

    @property
    def questions(self) -> tuple[Open, ...]:
        """The unanswered questions."""
        return tuple(step for step in self.steps if isinstance(step, Open))

    @property
    def drops(self) -> bool:
        """Whether any state is dropped: operators, states, or fields."""
        return any(
            isinstance(step, DropOperator | DropState) or (isinstance(step, ConvertState | ConvertKey) and step.without)
            for step in self.steps
        )

    @property
    def converts(self) -> bool:
        """Whether NEW's serializers are needed to write its values or keys, or its windows are."""
        return any(isinstance(step, ConvertState | ConvertKey | ConvertWindows) for step in self.steps)


def read_recipe(path: str) -> Recipe:
    """The recipe in a file. Raises RequestError, with the step and what is wrong with it."""
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_RECIPE + 1)
    except OSError as error:
        raise RequestError(f"{path}: cannot be read: {error.strerror or error}.") from error
    if len(data) > LARGEST_RECIPE:
        raise RequestError(f"{path}: a recipe of more than {LARGEST_RECIPE:,} bytes is not read.")
    try:
        recipe = msgspec.yaml.decode(data, type=Recipe)
    except msgspec.ValidationError as error:
        raise RequestError(f"{path}: {_wrong(str(error), data)}") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RequestError(f"{path}: this is no YAML: {str(error).splitlines()[0]}.") from error
    if recipe.format != FORMAT:
        raise RequestError(f"{path}: recipes of format {recipe.format} are not known here, only those of {FORMAT}.")
    return replace(recipe, steps=tuple(_placed(step, os.path.dirname(path)) for step in recipe.steps))


def _placed(step: Step, folder: str) -> Step:
    """A step whose functions are in files beside the recipe, by their paths. Raises RequestError for what names no function."""
    if isinstance(step, ConvertKey | ConvertWindows):
        merge = {state: how if how in set(Rule) else _function(how, folder) for state, how in step.merge.items()}
        step = replace(step, merge=merge)
    if not isinstance(step, ConvertState | ConvertKey | DropKeys) or step.function is None:
        return step
    return replace(step, function=_function(step.function, folder))


def _function(named: str, folder: str) -> str:
    file, _, name = named.rpartition(":")
    if not file or not name.isidentifier():
        raise RequestError(f"A function is named by its file and its name, FILE.py:NAME; this is {named!r}.")
    return f"{os.path.join(folder, file)}:{name}"


def _wrong(told: str, data: bytes) -> str:
    """What msgspec says of a recipe, with the step by its number, and the step that was meant."""
    what, _, place = told.partition(" - at `$")
    names = [str(step.__struct_config__.tag) for step in STEPS]
    for step in _steps_of(data):
        if step not in names:
            near = get_close_matches(str(step), names, n=1)
            meant = f" Did you mean {near[0]}?" if near else f" There are {', '.join(names)}."
            return f"no step is called {step!r}.{meant}"
    number = place.partition(".steps[")[2].partition("]")[0]
    where = f"step {int(number) + 1}" if number.isdigit() else "the recipe"
    return f"{where}: {what[:1].lower()}{what[1:]}."


def _steps_of(data: bytes) -> list[object]:
    found = msgspec.yaml.decode(data)
    steps = found.get("steps") if isinstance(found, dict) else None
    listed = steps if isinstance(steps, list) else []
    return [step["step"] for step in listed if isinstance(step, dict) and "step" in step]
