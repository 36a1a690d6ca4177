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
    """Another id for an operator: ``to`` is a uid, or an id. The committers of a sink follow its uid."""

    operator: str
    to: str


class DropOperator(_Step, frozen=True, kw_only=True, tag="drop-operator"):
    """An operator that goes, with all its state that no other step moves."""

    operator: str


class RenameState(_Step, frozen=True, kw_only=True, tag="rename-state"):
    """Another name for a state of an operator."""

    operator: str
    state: str
    to: str


class MoveState(_Step, frozen=True, kw_only=True, tag="move-state"):
    """A state that another operator has from now on: one of the savepoint, or else a uid or an id that is new.

    ``name`` is its new name, where it is to have one.
    """

    operator: str
    state: str
    to: str
    name: str | None = field(default=None, name="as")


class DropState(_Step, frozen=True, kw_only=True, tag="drop-state"):
    """A state that goes."""

    operator: str
    state: str


class RenameClass(_Step, frozen=True, kw_only=True, tag="rename-class"):
    """Another name for a class of POJOs, of case classes or of enums, wherever a serializer names it."""

    name: str = field(name="class")
    to: str


class RenameField(_Step, frozen=True, kw_only=True, tag="rename-field"):
    """Another name for a field of a POJO, or for a constant of an enum. The class is called as it was."""

    owner: str = field(name="class")
    name: str = field(name="field")
    to: str


class ConvertState(_Step, frozen=True, kw_only=True, tag="convert-state"):
    """The values of a state as NEW keeps them; no value is lost on the way.

    Of records, ``fields`` has fields of NEW with those that they were, ``constants`` fields of NEW that OLD had not, and
    ``without`` fields of OLD that go. Where only one of both is a record, ``single`` is its field that the other is. Values and
    lists become one another where they can, and single values entries of maps:
    ``entry`` is their key there. Where NEW has a time to live and OLD had none, the values were last used now.

    ``function`` may be what gives the values, as ``FILE.py:NAME``; with ``drops`` those of PyFlink go for which it gives None.
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
    """The keys of an operator as NEW's serializer writes them, each in the key group where NEW looks for it.

    ``fields``, ``constants``, ``without``, ``single`` and ``function`` are those of `ConvertState`. Two keys that would become
    one are an error, unless ``merge`` says of each state what happens to their values: `Rule`, or a function.
    """

    operator: str
    fields: dict[str, str] = {}
    constants: dict[str, bool | int | float | str | None] = {}
    without: tuple[str, ...] = ()
    single: str | None = None
    function: str | None = None
    merge: dict[str, str] = {}


class DropKeys(_Step, frozen=True, kw_only=True, tag="drop-keys"):
    """Keys of an operator that go, with all their state and timers: those of a list, those with such fields, or those for which
    a function gives true. The keys are those of OLD."""

    operator: str
    keys: tuple[bool | int | float | str, ...] = ()
    fields: dict[str, bool | int | float | str | None] = {}
    function: str | None = None


class ConvertWindows(_Step, frozen=True, kw_only=True, tag="convert-windows"):
    """Open windows of time of an operator as parts of longer ones, of ``size`` (``5 min``), of which one begins at ``offset``.

    Each has to lie within one of these. ``merge`` says of each state what happens to what several hold: as in `ConvertKey`.
    """

    operator: str
    size: str
    offset: str = "0 ms"
    merge: dict[str, str] = {}


class MoveOffsets(_Step, frozen=True, kw_only=True, tag="move-offsets"):
    """Where a Kafka source goes on: under other topics, in other partitions, at other offsets.

    ``topics`` has new names by old ones, ``partitions`` (``orders-3``) those that are others now, and ``offsets`` what is read
    next of a partition, which is called as it was: a number, or ``earliest``, ``latest`` or ``committed``.
    """

    operator: str
    topics: dict[str, str] = {}
    partitions: dict[str, str] = {}
    offsets: dict[str, int | str] = {}


class Open(_Step, frozen=True, kw_only=True, tag="open"):
    """A question that nobody has answered yet: a recipe with one of these is not carried out."""

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
    """What happens to a savepoint. ``format`` is that of the file."""

    format: int = field(name="recipe", default=FORMAT)
    steps: tuple[Step, ...] = ()

    @property
    def questions(self) -> tuple[Open, ...]:
        """The questions that are open."""
        return tuple(step for step in self.steps if isinstance(step, Open))

    @property
    def drops(self) -> bool:
        """Whether anything of the state goes: operators, states, or fields."""
        return any(
            isinstance(step, DropOperator | DropState) or (isinstance(step, ConvertState | ConvertKey) and step.without)
            for step in self.steps
        )

    @property
    def converts(self) -> bool:
        """Whether NEW has to say how it writes its values or keys."""
        return any(isinstance(step, ConvertState | ConvertKey) for step in self.steps)


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
