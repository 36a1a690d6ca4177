"""JSON from anybody, as a law: what is taken is plain, shallow and can be written again."""

from __future__ import annotations

import contextlib
import json
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.service.registry.packing import canonical
from compat.service.untrusted import RefusedBody, fields_of, nesting, read_json

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
        (b"9" * 10_000, "too large"),
    ],
)
def test_what_is_refused_says_why(body, reason):
    with pytest.raises(RefusedBody, match=reason):
        read_json(body, 64)


@pytest.mark.parametrize("body", [rb'"\ud83d\ude00"', rb'"\\ud800"', rb'"\\u0000"'])
def test_what_only_looks_so_is_taken(body):
    assert read_json(body, 64) == json.loads(body)


@given(VALUES)
def test_depth_is_told_from_the_text_before_it_is_read(value):
    def depth(item):
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    assert nesting(json.dumps(value).encode()) == depth(value)


@pytest.mark.parametrize("body", [b'"[[[', b'"' + rb"\"" * 200_000, b'["' + b"\\" * 100_000 + b'"]'])
def test_brackets_in_texts_do_not_count_and_broken_texts_cost_no_more(body):
    assert nesting(body) <= 1


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 5_000_000 + b"[]]",
        b'{"plan": [' + b"{}," * 5_000_000 + b"0]}",
        b"[" + b"0," * 7_000_000 + b"0]",
        b'{"a":' * 3_000_000 + b"1" + b"}" * 3_000_000,
        b"[" * 5_000_000 + b"]" * 5_000_000,
    ],
    ids=["lists", "objects", "numbers", "deep objects", "deep lists"],
)
def test_what_would_cost_much_is_refused_before_anything_is_made_of_it(body):
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(RefusedBody, match=r"more than|deeper|deeply"):
            read_json(body, 64)
        with contextlib.suppress(RefusedBody):
            fields_of(body)
        took, (_, most) = time.process_time() - started, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 5
    assert most < 3 * len(body)
