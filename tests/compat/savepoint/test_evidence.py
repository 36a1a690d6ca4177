"""Bytes as PyFlink's coders write them are of their own type, and of no other that has another form."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.savepoint.evidence import contradiction
from compat.state.flink import HeaderReader, read_metadata, sample_values
from compat.state.types import Types
from tests.compat.savepoint.conftest import saved

LONG, STRING, PICKLED = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
PAIR = Types.TUPLE([LONG, STRING])
ROW = Types.ROW([STRING, LONG])


def text(value):
    data = value.encode("utf-8")
    return struct.pack(">i", len(data)) + data


def long(value):
    return struct.pack(">q", value)


WRITTEN = {
    LONG: st.integers(-(2**63), 2**63 - 1).map(long),
    Types.INT(): st.integers(-(2**31), 2**31 - 1).map(lambda value: struct.pack(">i", value)),
    Types.SHORT(): st.integers(-(2**15), 2**15 - 1).map(lambda value: struct.pack(">h", value)),
    Types.BOOLEAN(): st.sampled_from([b"\0", b"\1"]),
    Types.DOUBLE(): st.floats().map(lambda value: struct.pack(">d", value)),
    STRING: st.text().map(text),
    PICKLED: st.binary().map(lambda data: struct.pack(">i", len(data) + 2) + b"\x80" + data + b"."),
    PAIR: st.tuples(st.integers(-(2**63), 2**63 - 1), st.text()).map(lambda pair: long(pair[0]) + text(pair[1])),
    ROW: st.tuples(st.none() | st.text(), st.none() | st.integers(0, 99)).map(
        lambda row: (
            bytes([0x20 * (row[0] is None) + 0x10 * (row[1] is None)])
            + (b"" if row[0] is None else text(row[0]))
            + (b"" if row[1] is None else long(row[1]))
        )
    ),
}


PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("declared", WRITTEN, ids=str)
@PATIENT
@given(data=st.data())
def test_what_a_type_wrote_is_of_that_type(declared, data):
    values = data.draw(st.lists(WRITTEN[declared], max_size=4))
    assert contradiction(str(declared), "value", values) is None
    assert contradiction(str(Types.LIST(declared)), "list", [b"".join(values)] if values else []) is None
    assert contradiction(str(Types.MAP(STRING, declared)), "map", values) is None


OTHERS = [
    (STRING, long(27), "8 bytes, of which String takes 4"),
    (PICKLED, long(27), "do not begin and end like a pickle"),
    (LONG, text("seven"), "9 bytes, of which Long takes 8"),
    (LONG, text("a"), "5 bytes where Long has 8"),
    (Types.INT(), long(1), "8 bytes, of which Integer takes 4"),
    (Types.BOOLEAN(), b"\2", "a byte 0x02 where Boolean has 0 or 1"),
    (STRING, b"\0\0\0\2\xff\xfe", "bytes that are not UTF-8"),
    (PICKLED, text("long enough"), "do not begin and end like a pickle"),
    (PAIR, long(1), "do not begin with the length of String"),
    (ROW, b"", "0 bytes where Row(f0: String, f1: Long) begins with 1"),
]


@pytest.mark.parametrize(("declared", "value", "why"), OTHERS, ids=[f"{one[0]}-{one[2]}" for one in OTHERS])
def test_bytes_of_another_form_contradict(declared, value, why):
    assert why in (contradiction(str(declared), "value", [value]) or "")


@pytest.mark.parametrize("declared", [None, "com.acme.Order", str(Types.INSTANT()), str(Types.LIST(LONG)), "byte[]"])
def test_what_is_not_known_contradicts_nothing(declared):
    assert contradiction(declared, "value", [b"anything"]) is None


@PATIENT
@given(st.binary(max_size=40), st.sampled_from([str(declared) for declared in WRITTEN]))
def test_any_bytes_are_judged_without_an_error(value, declared):
    assert isinstance(contradiction(declared, "list", [value]), str | None)


def test_samples_are_what_flink_stored():
    savepoint = read_metadata(saved("all_states_hashmap_canonical")["path"])
    operator = next(one for one in savepoint.operators if one.uid == "everything")
    samples = sample_values(savepoint, operator, HeaderReader(savepoint))
    assert all(value[:4] == b"\0\0\0\x08" for value in samples["python-state-last"])
    assert samples["python-state-items"][0].startswith(b"\0\0\0\6\0\0\0\2i")


@pytest.mark.parametrize("name", ["all_states_rocksdb_native", "all_states_retained_checkpoint"])
def test_native_formats_have_no_samples(name):
    savepoint = read_metadata(saved(name)["path"])
    headers = HeaderReader(savepoint)
    assert all(sample_values(savepoint, operator, headers) == {} for operator in savepoint.operators)
