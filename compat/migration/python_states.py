"""States and keys of PyFlink: the effect of a step if both versions declare types, and only bytes are stored."""

from __future__ import annotations

from compat.migration.functions import Functions
from compat.migration.recipe import ConvertKey, ConvertState
from compat.plan.facts import Program
from compat.state.flink.forms import Unconvertible
from compat.state.flink.header_parts import StateForm
from compat.state.flink.merging import Merge, MergeByFunction, MergeByRule, Rule
from compat.state.flink.python_functions import OfKeys, OfMerge, OfValues
from compat.state.flink.python_rules import ByRules, Declared
from compat.state.flink.python_states import Apply, PythonConversion
from compat.state.flink.rekeying import KeyConversion
from compat.state.flink.snapshot_writing import key_snapshot, state_form
from compat.state.flink.state_entries import EntryKind, StoredState
from compat.state.flink.transcoding import Fields, Held
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import PYTHON_PREFIX
from compat.state.types import ListTypeInfo, RowTypeInfo, TypeInformation
from compat.state.types.spelling import parse_type

_PICKLED = "PickledByteArrayTypeInfo"


def conversion_of(
    stored: StoredState,
    before: State | None,
    after: State | None,
    step: ConvertState,
    fields: Fields,
    functions: Functions,
    now: int,
) -> PythonConversion:
    """The conversion of a state's values. ``before`` and ``after`` are the declarations of OLD and NEW, if any.

    Raises Unconvertible if it is unknown.
    """
    new = declaration_of(after)
    if after is None or new is None:
        raise Unconvertible("NEW does not declare its type")
    # A pickle is recognisable: if OLD is not named, pickles of NEW were pickles in OLD.
    old = declaration_of(before) or (new if step.function is not None and new.type == _PICKLED else None)
    if old is None:
        raise Unconvertible("to Flink it is bytes: name the program that wrote it, with its types (--names OLD.py)")
    _require_kind(stored, old)
    if step.function is None:
        apply: Apply = ByRules(old, new, fields, step.entry)
    else:
        apply = functions.applying(step.function, OfValues(old, new, step.drops))
    if after.scope is not StateScope.KEYED:
        return PythonConversion(apply)
    kind, timed = "MAP" if after.kind is StateKind.MAP else "LIST", after.ttl is not None
    same = (stored.kind.value.upper(), stored.ttl) == (kind, timed)
    return PythonConversion(apply, Held(kind, timed), StateForm() if same else state_form(kind, timed=timed), now)


def key_conversion_of(
    serializer: bytes, old: str, new: str, step: ConvertKey, fields: Fields, functions: Functions
) -> KeyConversion:
    """The conversion of keys, which are the only field of a row: ``serializer`` is the stored snapshot, ``old`` and
    ``new`` are the types of both versions. Raises Unconvertible.
    """
    type = parse_type(new)
    if type is None:
        raise Unconvertible(f"{new} is no type of PyFlink's")
    if step.function is None:
        return KeyConversion(key_snapshot(type), fields, within=True)
    apply = functions.applying(step.function, OfKeys(serializer, old, new))
    return KeyConversion(key_snapshot(type), within=True, apply=apply)


def merge_of(stored: StoredState, before: State | None, how: str, functions: Functions) -> Merge:
    """The merge of values of a state whose keys become equal: by a rule, or for PyFlink through a function.

    Raises Unconvertible if OLD does not declare the type.
    """
    if not stored.name.startswith(PYTHON_PREFIX):
        if how not in set(Rule):
            raise Unconvertible("a function is given values of PyFlink's process mode")
        return MergeByRule(Rule(how))
    old = declaration_of(before)
    if old is not None and how not in set(Rule):
        _require_kind(stored, old)
    return python_merge(stored.declared_name, old, how, functions)


def python_merge(name: str, old: Declared | None, how: str, functions: Functions) -> Merge:
    """The conversion of values of a state of PyFlink whose keys become one. Raises Unconvertible."""
    if how in set(Rule):
        if how != Rule.ALL or old is None or old.kind is not StateKind.LIST:
            raise Unconvertible(f"`{how}` is not known of {name!r}, which is bytes to Flink: name a function")
        return MergeByRule(Rule(how))
    if old is None:
        raise Unconvertible(
            "to Flink its values are bytes: name the program that wrote it, with its types (--names OLD.py)"
        )
    return MergeByFunction(functions.applying(how, OfMerge(old)))


def _require_kind(stored: StoredState, old: Declared) -> None:
    """Raise Unconvertible for a program that cannot have written a state: its values would be read as what they are not."""
    if (old.kind is StateKind.MAP) is not (stored.kind in (EntryKind.MAP, EntryKind.BROADCAST)):
        raise Unconvertible("another kind of state wrote it: name the program that did (--names OLD.py)")


def stored_key(stored: StoredState) -> str | None:
    """The type of PyFlink's keys in the savepoint; bytes are taken for pickles. None for Java keys."""
    told = only_field(stored.key_type)
    return None if told is None else _PICKLED if str(told) == "byte[]" else str(told)


def declared_key(operator: str, program: Program | None) -> str | None:
    """The type of an operator's keys as a program in Python declares it; None if it does not."""
    for one in () if program is None else program.operators:
        if operator in (one.id, one.user_hash):
            types = (only_field(parse_type(state.key_type)) for state in one.states or () if state.key_type)
            return next((str(type) for type in types if type is not None), None)
    return None


def only_field(row: TypeInformation | None) -> TypeInformation | None:
    """The type of the only field of a row: keys of PyFlink are such rows."""
    return row.field_types[0] if isinstance(row, RowTypeInfo) and len(row.field_types) == 1 else None


def declaration_of(state: State | None) -> Declared | None:
    """The kind and the type of a state; for a list the type of its elements. None if it is not declared."""
    if state is None or state.type is None:
        return None
    type = parse_type(state.type)
    if state.kind is StateKind.LIST and isinstance(type, ListTypeInfo):
        type = type.element_type
    return None if type is None else Declared(state.kind, str(type))
