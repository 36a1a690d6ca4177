"""Steps for states and keys of PyFlink: by the types alone where these become one another, and through a function."""

from __future__ import annotations

from compat.migration.python_states import declaration_of, only_field
from compat.migration.recipe import ConvertKey, ConvertState
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Form, Unconvertible, form_of
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_rules import ByRules
from compat.state.flink.snapshot_writing import snapshot_of
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import Fields, transcoder
from compat.state.model.states import State
from compat.state.types import TypeInformation
from compat.state.types.spelling import parse_type

FUNCTION = "functions.py:convert"
"""The placeholder for a function that has to be written."""


def conversions(operator: str, old: State, new: State) -> tuple[ConvertState, ...]:
    """The steps that may convert the values of a state whose types are known on both sides, by declaration or from
    Flink's serializers.
    """
    step = ConvertState(operator=operator, state=old.name)
    before, after = declaration_of(old), declaration_of(new)
    if new.serializers is not None or before is None or after is None:
        return (step,)
    through = ConvertState(operator=operator, state=old.name, function=FUNCTION)
    if before == after and (old.ttl is None) is (new.ttl is None):
        return (through,)
    try:
        ByRules(before, after, Fields())
    except Unconvertible:
        records = all(_is_record(form_of_type(one.parsed)) for one in (before, after))
        return (step, through) if records else (through,)
    return step, through


def of_pickles(old: State, new: State) -> bool:
    """Whether a state holds pickled values, before and after, as far as its types show."""
    return old.type is not None and old.type == new.type and "Pickled" in old.type


def key_conversions(operator: str, old: str | None, new: str | None) -> tuple[ConvertKey, ...]:
    """The same for keys, by the types that both versions declare; None for a type that only Java knows."""
    step = ConvertKey(operator=operator)
    before, after = (only_field(None if type is None else parse_type(type)) for type in (old, new))
    if before is None or after is None:
        return (step,)
    through = ConvertKey(operator=operator, function=FUNCTION)
    try:
        forms = _key_form(before), _key_form(after)
    except Unconvertible:
        return (through,)
    try:
        transcoder(*forms)
    except Unconvertible:
        told = any(map(_is_record, forms))
    else:
        told = before != after
    return (step, through) if told else (through,)


def _key_form(type: TypeInformation) -> Form:
    return form_of(read_versioned(ByteReader(snapshot_of(type), "a type"), 0))


def _is_record(form: Form) -> bool:
    return form.layout is not None and form.layout.is_record
