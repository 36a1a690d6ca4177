"""Value states whose declared type changed."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, MIGRATES, OK, ROW_AB, ROW_ABC, ROW_BA, Pair, pair
from tests.compat.pairs.programs import by_name, first, value


def retyped(name: str, old: tuple[str, ...], new: tuple[str, ...], verdict: str, *rules: str) -> Pair:
    """A value state whose type changed; each side is a type and what is stored for the number ``value``."""
    return pair(name, value(*old), value(*new), verdict, *rules)


TYPES = [
    retyped("type_same", ("L",), ("L",), OK),
    retyped("type_long_to_big_int", ("L",), ("Types.BIG_INT()",), OK),
    retyped("type_big_int_to_long", ("Types.BIG_INT()",), ("L",), OK),
    retyped("type_string_to_char", ("S", "str(value % 10)"), ("Types.CHAR()", "str(value % 10)"), OK),
    retyped("type_int_to_long", ("I",), ("L",), BROKEN, "CMP404"),
    retyped("type_long_to_int", ("L",), ("I",), BROKEN, "CMP404"),
    retyped(
        "type_float_to_double", ("Types.FLOAT()", "float(value)"), ("Types.DOUBLE()", "float(value)"), BROKEN, "CMP404"
    ),
    retyped("type_long_to_double", ("L",), ("Types.DOUBLE()", "float(value)"), BROKEN, "CMP404"),
    retyped("type_long_to_pickled", ("L",), ("P",), BROKEN, "CMP404"),
    retyped("type_pickled_to_long", ("P",), ("L",), BROKEN, "CMP404"),
    retyped("type_pickled_both", ("P",), ("P",), OK),
    retyped(
        "type_big_dec_to_string",
        ("Types.BIG_DEC()", "__import__('decimal').Decimal(value)"),
        ("S", "str(value)"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_row_unnamed_to_named", ("Types.ROW([L, L])", "Row(value, value + 1)"), ROW_AB, OK),
    retyped(
        "type_row_field_renamed",
        ROW_AB,
        ('Types.ROW_NAMED(["a", "x"], [L, L])', "Row(a=value, x=value + 1)"),
        OK,
        "CMP404",
    ),
    pair(
        "type_row_fields_swapped",
        by_name(value(*ROW_AB), "a", "b"),
        by_name(value(*ROW_BA), "a", "b"),
        BROKEN,
        "CMP404",
    ),
    pair(
        "type_row_field_added",
        by_name(value(*ROW_AB), "a", "b", "c"),
        by_name(value(*ROW_ABC), "a", "b", "c"),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_field_added_first",
        ROW_AB,
        ('Types.ROW_NAMED(["z", "a", "b"], [L, L, L])', "Row(z=0, a=value, b=value + 1)"),
        BROKEN,
        "CMP404",
    ),
    pair(
        "type_row_last_field_removed",
        by_name(value(*ROW_ABC), "a", "b"),
        by_name(value(*ROW_AB), "a", "b"),
        MIGRATES,
        "CMP405",
    ),
    retyped(
        "type_row_first_field_removed",
        ROW_ABC,
        ('Types.ROW_NAMED(["b", "c"], [L, S])', 'Row(b=value, c="c")'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_field_retyped",
        ROW_AB,
        ('Types.ROW_NAMED(["a", "b"], [L, S])', 'Row(a=value, b="b")'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_nested_field_added",
        ('Types.ROW_NAMED(["r", "n"], [Types.ROW_NAMED(["a"], [L]), L])', "Row(r=Row(a=value), n=1)"),
        ('Types.ROW_NAMED(["r", "n"], [Types.ROW_NAMED(["a", "b"], [L, L]), L])', "Row(r=Row(a=value, b=0), n=1)"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_row_to_tuple", ROW_AB, ("Types.TUPLE([L, L])", "(value, value + 1)"), BROKEN, "CMP404"),
    retyped("type_tuple_to_row", ("Types.TUPLE([L, L])", "(value, value + 1)"), ROW_AB, BROKEN, "CMP404"),
    retyped(
        "type_tuple_extended", ("Types.TUPLE([L])", "(value,)"), ("Types.TUPLE([L, L])", "(value, 0)"), BROKEN, "CMP404"
    ),
    pair(
        "type_tuple_cut_behind_text",
        first(value("Types.TUPLE([L, S, L])", '(value, "text", 0)')),
        first(value("Types.TUPLE([L, S])", '(value, "text")')),
        BROKEN,
        "CMP404",
        unrecorded="it ends the process: a random restore is of this kind",
    ),
    pair(
        "type_tuple_cut",
        first(value("Types.TUPLE([L, L])", "(value, 0)")),
        first(value("Types.TUPLE([L])", "(value,)")),
        MIGRATES,
        "CMP405",
    ),
    retyped("type_list_to_object_array", ("Types.LIST(L)", "[value]"), ("Types.OBJECT_ARRAY(L)", "[value]"), OK),
    retyped("type_list_to_basic_array", ("Types.LIST(L)", "[value]"), ("Types.BASIC_ARRAY(L)", "[value]"), OK),
    retyped(
        "type_list_to_primitive_array",
        ("Types.LIST(L)", "[value]"),
        ("Types.PRIMITIVE_ARRAY(L)", "[value]"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_list_element", ("Types.LIST(L)", "[value]"), ("Types.LIST(S)", "[str(value)]"), BROKEN, "CMP404"),
    retyped(
        "type_map_value",
        ("Types.MAP(S, L)", '{"a": value}'),
        ("Types.MAP(S, S)", '{"a": str(value)}'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_map_value_big_int",
        ("Types.MAP(S, L)", '{"a": value}'),
        ("Types.MAP(S, Types.BIG_INT())", '{"a": value}'),
        OK,
    ),
    retyped("type_boolean_to_byte", ("Types.BOOLEAN()", "True"), ("Types.BYTE()", "1"), BROKEN, "CMP404"),
    retyped(
        "type_instant_same",
        ("Types.INSTANT()", "Instant.of_epoch_milli(value)"),
        ("Types.INSTANT()", "Instant.of_epoch_milli(value)"),
        OK,
    ),
]
