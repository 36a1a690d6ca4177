"""The form that a declared type gives to records."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from ctypes import c_float
from datetime import date, datetime
from decimal import Decimal
from operator import index, is_, itemgetter
from types import NoneType
from typing import Any, NamedTuple

from compat.state.rows import Row, make_row
from compat.state.serializers import not_of_type
from compat.state.types import MapTypeInfo, RowTypeInfo, TupleTypeInfo


def converter(type_info: Any) -> Callable[[list[Any]], list[Any]] | None:
    """The function that gives records the form of their type, as PyFlink's coders do; None if they need no change.

    Declared rows become rows, and declared tuples tuples; whole numbers lose their fraction, floats have 32 bits, times whole
    milliseconds. Raises TypeError for anything else in place of a number, OverflowError for a number that is too large for its
    type.
    """
    form = _form_of(type_info)
    if form is None:
        return None
    have_it, convert = form.have_it, form.convert

    def convert_all(values: list[Any]) -> list[Any]:
        return values if have_it(values) else list(map(convert, values))

    return convert_all


class Form(NamedTuple):
    """The classes whose values have the form of a type already, and what gives it to any value.

    ``code`` is that of :mod:`array` for whole numbers that have so many bytes only.
    """

    fits: frozenset[type]
    convert: Callable[[Any], Any]
    code: str = ""

    def have_it(self, values: list[Any]) -> bool:
        """True if all values have the form."""
        return self.fits.issuperset(map(type, values)) and (not self.code or _within(self.code, values))


class _TupleForm:
    """The form of tuples: looked at field by field, since most have it already."""

    code = ""

    def __init__(self, types: tuple[Any, ...]) -> None:
        self._forms = [_form_of(field) for field in types]
        self._columns = [(itemgetter(place), form) for place, form in enumerate(self._forms) if form is not None]

    def have_it(self, values: list[Any]) -> bool:
        """True if all values have the form."""
        if not {tuple}.issuperset(map(type, values)):
            return False
        try:
            for field, form in self._columns:
                if not form.have_it(list(map(field, values))):
                    return False
        except IndexError:
            return False
        return True

    def convert(self, value: Any) -> Any:
        """Any value in the form."""
        if value is None:
            return None
        return _parts(self._forms, value) or (value if type(value) is tuple else tuple(value))


def _within(code: str, numbers: list[Any]) -> bool:
    """True if whole numbers, or None, are within the range of an array's code."""
    try:
        array(code, numbers)
    except OverflowError:
        return False
    except TypeError:
        return _within(code, [number for number in numbers if number is not None])
    return True


def _form(fits: type | None, convert: Callable[[Any], Any]) -> Form:
    """A form that None has too."""
    classes = frozenset({NoneType} if fits is None else {fits, NoneType})
    return Form(classes, lambda value: value if type(value) in classes else convert(value))


def _number(kind: str, fits: type, convert: Callable[[Any], Any]) -> Form:
    def checked(value: Any) -> Any:
        try:
            if not isinstance(value, (str, bytes)):
                return convert(value)
        except (TypeError, ValueError, ArithmeticError):
            pass
        raise not_of_type(value, kind)

    return _form(fits if kind != "FLOAT" else None, checked)


def _whole(kind: str, code: str) -> Form:
    """The form of whole numbers. Flink's coders fail on one that is larger than its type."""
    _, convert, _ = _number(kind, int, int)
    end = 1 << (8 * array(code).itemsize - 1)

    def checked(value: Any) -> Any:
        number = convert(value)
        if number is not None and not -end <= number < end:
            raise OverflowError(
                f"{number} is too large for its declared type {kind}, which ends at {end - 1}: declare a larger one."
            )
        return number

    return Form(frozenset({int, NoneType}), checked, code)


_SIMPLE = {
    **{kind: _whole(kind, code) for kind, code in (("BYTE", "b"), ("SHORT", "h"), ("INT", "i"), ("LONG", "q"))},
    "FLOAT": _number("FLOAT", float, lambda value: c_float(value).value),
    "DOUBLE": _number("DOUBLE", float, float),
    "BOOLEAN": _number("BOOLEAN", bool, lambda value: bool(index(value))),
    "BIG_DEC": _form(Decimal, lambda value: Decimal(str(value))),
    "SQL_DATE": _form(date, lambda value: value.date() if isinstance(value, datetime) else value),
    "SQL_TIME": _form(None, lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)),
}


def _form_of(type_info: Any) -> Form | _TupleForm | None:
    if isinstance(type_info, RowTypeInfo):
        return _form(None, _to_row(type_info))
    if isinstance(type_info, TupleTypeInfo):
        return _TupleForm(type_info.field_types)
    if isinstance(type_info, MapTypeInfo):
        keys, values = _form_of(type_info.key_type), _form_of(type_info.value_type)
        return None if keys is values is None else _form(None, lambda each: _entries(keys, values, each))
    if hasattr(type_info, "element_type"):
        element = _form_of(type_info.element_type)
        return None if element is None else _form(None, lambda value: list(map(element.convert, value)))
    return _SIMPLE.get(getattr(type_info, "kind", ""))


def _parts(forms: Sequence[Form | _TupleForm | None], values: Any) -> tuple[Any, ...] | None:
    """The fields in the forms of their types; None if all have them."""
    if len(forms) != len(values):
        raise TypeError(f"{values!r} has {len(values)} fields, and its declared type {len(forms)}.")
    made = tuple(each if form is None else form.convert(each) for form, each in zip(forms, values, strict=True))
    return None if all(map(is_, made, values)) else made


def _entries(
    keys: Form | _TupleForm | None, values: Form | _TupleForm | None, entries: dict[Any, Any]
) -> dict[Any, Any]:
    return {
        key if keys is None else keys.convert(key): value if values is None else values.convert(value)
        for key, value in entries.items()
    }


def _to_row(type_info: RowTypeInfo) -> Callable[[Any], Row]:
    names = type_info.field_names
    forms = [_form_of(field) for field in type_info.field_types]

    def to_row(value: Any) -> Row:
        if isinstance(value, Row):
            fields = value.get_fields_by_names(list(names))
            made = _parts(forms, fields)
            if made is None and value._names() == list(names):
                return value
            return make_row(names, value.get_row_kind().value, list(made or fields))
        if isinstance(value, dict):
            value = [value.get(name) for name in names]
        return make_row(names, 0, list(_parts(forms, value) or value))

    return to_row


def from_internal(type_info: Any) -> Callable[[Any], Any]:
    """The function that makes a record of the stored form that ``to_internal_type`` gave."""
    if type_info is None or not type_info.need_conversion():
        return lambda value: value
    if isinstance(type_info, RowTypeInfo):
        fields = [from_internal(field) for field in type_info.field_types]
        names = type_info.field_names

        def to_row(value: Any) -> Row | None:
            if value is None:
                return None
            return make_row(names, value[0], [f(v) for f, v in zip(fields, value[1:], strict=True)])

        return to_row
    if isinstance(type_info, TupleTypeInfo):
        parts = [from_internal(field) for field in type_info.field_types]
        return lambda value: None if value is None else tuple(f(v) for f, v in zip(parts, value, strict=True))
    return type_info.from_internal_type  # type: ignore[no-any-return]
