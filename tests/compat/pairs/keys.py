"""Keyed operators whose key changed."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, pair
from tests.compat.pairs.programs import value

_KEY = 'numbers.key_by({}).process(Keep(), S).uid("keep").print().uid("out")'


def keyed(key: str) -> str:
    """A value state under this key."""
    program = value("L", graph=_KEY.format(key))
    shown = "key = (lambda k: k[0] if isinstance(k, (Row, tuple)) else k)(ctx.get_current_key())"
    return program.replace("key = ctx.get_current_key()", shown)


KEYS = [
    pair("key_selector_rewritten", keyed("lambda x: x % 3, L"), keyed("lambda x: (x + 3) % 3, L"), OK, "CMP419"),
    pair("key_long_to_string", keyed("lambda x: x % 3, L"), keyed("lambda x: str(x % 3), S"), BROKEN, "CMP406"),
    pair("key_long_to_int", keyed("lambda x: x % 3, L"), keyed("lambda x: x % 3, I"), BROKEN, "CMP406"),
    pair(
        "key_long_to_big_int", keyed("lambda x: x % 3, L"), keyed("lambda x: x % 3, Types.BIG_INT()"), BROKEN, "CMP406"
    ),
    pair(
        "key_string_to_char",
        keyed("lambda x: str(x % 3), S"),
        keyed("lambda x: str(x % 3), Types.CHAR()"),
        BROKEN,
        "CMP406",
    ),
    pair(
        "key_row_fields_renamed",
        keyed('lambda x: Row(a=x % 3), Types.ROW_NAMED(["a"], [L])'),
        keyed('lambda x: Row(b=x % 3), Types.ROW_NAMED(["b"], [L])'),
        OK,
    ),
    pair(
        "key_row_to_named",
        keyed("lambda x: Row(x % 3), Types.ROW([L])"),
        keyed('lambda x: Row(b=x % 3), Types.ROW_NAMED(["b"], [L])'),
        OK,
    ),
    pair(
        "key_row_field_added",
        keyed('lambda x: Row(a=x % 3), Types.ROW_NAMED(["a"], [L])'),
        keyed('lambda x: Row(a=x % 3, b=0), Types.ROW_NAMED(["a", "b"], [L, L])'),
        BROKEN,
        "CMP406",
    ),
    pair(
        "key_tuple_to_row",
        keyed("lambda x: (x % 3, 0), Types.TUPLE([L, L])"),
        keyed("lambda x: Row(x % 3, 0), Types.ROW([L, L])"),
        BROKEN,
        "CMP406",
    ),
    pair("key_pickled_both", keyed("lambda x: x % 3"), keyed("lambda x: x % 3"), OK),
]
