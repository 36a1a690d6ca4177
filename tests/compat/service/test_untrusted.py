"""JSON from anybody, as a law: what is taken is plain, shallow and can be written again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.service.registry.packing import canonical
from compat.service.shape import NUMBER, PLAN, TEXT, check_shape, json_schema
from compat.service.untrusted import RefusedBody, read_json
from tests.compat.service.running import OLD, plan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_what_is_read_can_be_written_and_is_the_same(value, ascii_only):
    try:
        body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        found = read_json(body, 64)
    except RefusedBody:
        return
    assert found == value
    assert json.loads(canonical(found)) == value


@given(st.integers(1, 40))
def test_depth_is_counted_the_same_in_lists_and_objects(depth):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        body = (opening * depth + "1" + closing * depth).encode()
        assert read_json(body, depth) is not None
        with pytest.raises(RefusedBody, match="deeper"):
            read_json(body, depth - 1)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (rb'"\ud800"', "surrogate"),
        (rb'{"\udfff": 1}', "surrogate"),
        (rb'["a", {"b": "\u0000"}]', "NUL"),
        (b'"\x00"', "not JSON"),
        (b"9223372036854775808", "64 bits"),
        (b"[-9223372036854775809]", "64 bits"),
        (b"1e400", "too large"),
        (b"-Infinity", "Infinity"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"9" * 10_000, "not JSON"),
    ],
)
def test_what_is_refused_says_why(body, reason):
    with pytest.raises(RefusedBody, match=reason):
        read_json(body, 64)


@pytest.mark.parametrize("body", [rb'"\ud83d\ude00"', rb'"\\ud800"', rb'"\\u0000"'])
def test_what_only_looks_so_is_taken(body):
    assert read_json(body, 64) == json.loads(body)


def test_the_shape_of_a_plan_is_also_its_schema():
    check_shape(plan(*OLD))
    schema = json_schema()
    assert schema["required"] == ["format"]
    assert json_schema({"a!": TEXT, "b": [NUMBER]}) == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        },
    }
    assert set(schema["properties"]) == {field.rstrip("!") for field in PLAN}
