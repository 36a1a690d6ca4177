"""Bytes as PyFlink's coders write them are of their own type, and of no other that has another form."""

from __future__ import annotations

import base64
import pickle
import struct
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from compat.savepoint.evidence import classes_named, judge, pickles_tell
from compat.state.flink import HeaderReader, read_metadata, sample_values
from compat.state.types import Types
from tests.compat.savepoint.conftest import saved

REPOSITORY = Path(__file__).parents[3]


def contradiction(declared, container, values):
    return judge(declared, container, values).contradiction


LONG, STRING, PICKLED = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
PAIR = Types.TUPLE([LONG, STRING])
ROW = Types.ROW([STRING, LONG])
BYTES, DOUBLE, INT, LONGS = Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.DOUBLE(), Types.INT(), Types.LIST(Types.LONG())


def text(value):
    data = value.encode("utf-8")
    return struct.pack(">i", len(data)) + data


def long(value):
    return struct.pack(">q", value)


def listed(*items):
    """A list as PyFlink writes it; None stands for an element that is not there."""
    return struct.pack(">i", len(items)) + b"".join(b"\0" if item is None else b"\1" + item for item in items)


WRITTEN = {
    BYTES: st.binary().map(lambda data: struct.pack(">i", len(data)) + data),
    LONGS: st.lists(st.none() | st.integers(-(2**63), 2**63 - 1).map(long)).map(lambda items: listed(*items)),
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
    (BYTES, long(27), "8 bytes, of which byte[] takes 4"),
    (Types.LIST(INT), listed(long(30), long(1)), "bytes, of which List<Integer> takes"),
    (LONGS, listed(struct.pack(">i", 30), struct.pack(">i", 1)), "bytes where Long has 8"),
    (LONGS, text("7 bytes"), "neither there nor None"),
    (LONGS, b"", "number of elements of a list"),
    (Types.ROW([LONG, LONG]), long(1) + long(2), "where Long has 8"),
    (Types.TUPLE([LONG, LONG]), b"\0" + long(1) + long(2), "17 bytes, of which"),
    (ROW, b"", "0 bytes where Row(f0: String, f1: Long) begins with 1"),
]


@pytest.mark.parametrize(("declared", "value", "why"), OTHERS, ids=[f"{one[0]}-{one[2]}" for one in OTHERS])
def test_bytes_of_another_form_contradict(declared, value, why):
    assert why in (contradiction(str(declared), "value", [value]) or "")


@pytest.mark.parametrize("declared", [None, "com.acme.Order", str(Types.INSTANT()), "long[]"])
def test_what_is_not_known_contradicts_nothing(declared):
    assert contradiction(declared, "value", [b"anything"]) is None


@PATIENT
@given(st.binary(max_size=40), st.sampled_from([str(declared) for declared in WRITTEN]))
def test_any_bytes_are_judged_without_an_error(value, declared):
    assert isinstance(contradiction(declared, "list", [value]), str | None)


REAL = struct.Struct(">d").pack
TOLD = [
    (LONG, [long(30), long(0)], True),
    (LONG, [long(-5)], True),
    (LONG, [long(0)], False),
    (LONG, [], False),
    (LONG, [long(30), REAL(1.5)], False),
    (LONG, [long(1_700_000_000_000)], False),
    (DOUBLE, [REAL(1.5), REAL(0.0)], True),
    (DOUBLE, [long(30)], False),
    (DOUBLE, [REAL(float("nan"))], False),
    (INT, [struct.pack(">i", -1)], True),
    (INT, [struct.pack(">i", 30)], False),
    (Types.BOOLEAN(), [b"\1"], True),
    (STRING, [text("seven")], False),
    (BYTES, [text("seven")], False),
    (BYTES, [b"\0\0\0\2\xff\xfe"], True),
    (BYTES, [b"\0\0\0\2\x80."], False),
    (PICKLED, [b"\0\0\0\3\x80\5."], True),
    (LONGS, [listed(long(30), None)], True),
    (LONGS, [listed()], False),
    (Types.TUPLE([LONG, DOUBLE]), [long(1) + REAL(1.5)], True),
    (Types.TUPLE([LONG, DOUBLE]), [long(1) + REAL(0.0)], False),
    (Types.TUPLE([DOUBLE, LONG]), [long(1) + REAL(1.5)], False),
    (PAIR, [long(1) + text("a")], False),
    (Types.ROW([LONG, LONG]), [b"\0" + long(1) + long(2)], True),
    (Types.ROW([LONG, LONG]), [b"\x20" + long(2)], False),
    (Types.INSTANT(), [long(30)], False),
]


@pytest.mark.parametrize(("declared", "values", "told"), TOLD)
def test_values_that_no_other_type_has_tell_the_type(declared, values, told):
    found = judge(str(declared), "value", values)
    assert (found.contradiction, found.told) == (None, told)


def test_a_map_is_never_told_as_its_keys_are_not_looked_at():
    assert not judge(str(Types.MAP(STRING, LONG)), "map", [long(30)]).told


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


WINDOWS = REPOSITORY / "tests/golden/pyflink-2.3/programs/pairs/window_reduce_to_process/old.py"
OF_LONGS = "PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])"


@pytest.mark.parametrize(
    ("kept", "verdict", "rules"),
    [
        (OF_LONGS, "compatible", set()),
        ("PAIR = Types.TUPLE([Types.LONG(), Types.STRING()])", "incompatible", {"CMP505"}),
        ("PAIR = Types.TUPLE([Types.LONG(), Types.DOUBLE()])", "unknown", {"CMP504"}),
    ],
)
def test_what_windows_hold_is_held_against_the_type_that_new_keeps_there(kept, verdict, rules, tmp_path):
    path = tmp_path / "new.py"
    path.write_text(WINDOWS.read_text(encoding="utf-8").replace(OF_LONGS, kept), encoding="utf-8")
    savepoint = REPOSITORY / "tests/golden/savepoints_of_pairs/window_reduce_to_process"
    settings = LoadOptions(options={"parallelism.default": "2"})
    (report,) = compare(Comparison(str(savepoint), str(path), load=settings)).outcomes
    assert report.verdict.value == verdict
    assert {finding.rule for finding in report.findings} == rules


A_TUPLE = pickle.dumps((2611, "2611"))
A_ROW = base64.b64decode(
    "gASVWAAAAAAAAACMFHB5ZmxpbmsuY29tbW9uLnR5cGVzlIwLX2NyZWF0ZV9yb3eUk5RdlCiMAWGUjAFjlGVNSAqMBDI2MzKUhpRoAIwHUm93S2luZJSTlEsA"
    "hZRSlIeUUpQu"
)
"""As PyFlink 2.3 keeps a row in thread mode."""


@pytest.mark.parametrize(
    ("declared", "pickles", "told"),
    [
        (PAIR, [A_TUPLE, pickle.dumps(())], True),
        (PAIR, [A_TUPLE, A_ROW], False),
        (PAIR, [pickle.dumps([1, 2])], False),
        (PAIR, [b"\x80\x04nonsense"], False),
        (PAIR, [], False),
        (ROW, [A_ROW], True),
        (ROW, [A_TUPLE], False),
        (ROW, [pickle.dumps(Decimal(1))], False),
        (LONGS, [A_TUPLE], False),
        (PICKLED, [A_TUPLE], True),
        (LONG, [], True),
        (Types.MAP(STRING, LONG), [], True),
        (Types.MAP(STRING, PAIR), [], False),
        (Types.MAP(STRING, Types.MAP(STRING, LONGS)), [], False),
    ],
)
def test_what_thread_mode_keeps_pickled_tells_tuples_and_rows_apart(declared, pickles, told):
    assert pickles_tell(declared, pickles) is told


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_names_its_classes(protocol):
    pickled = pickle.dumps([Decimal(1), {"a": Decimal(2)}, Path("a")], protocol)
    assert {"decimal:Decimal", "pathlib:PosixPath"} <= classes_named(pickled)


def test_classes_of_rows_and_of_what_is_no_pickle():
    assert classes_named(A_ROW) == {"pyflink.common.types:_create_row", "pyflink.common.types:RowKind"}
    assert classes_named(A_TUPLE) == classes_named(b"\x80\x04nonsense") == classes_named(b"") == set()


def test_three_numbers_in_each_value_may_be_one_element_of_three_fields():
    assert judge(str(LONGS), "list", [long(1), long(2) + long(3)]).told
    assert judge(str(LONGS), "list", [long(1), long(2)]).told
    assert not judge(str(LONGS), "list", [long(1) + long(2) + long(3), long(4) + long(5) + long(6)]).told
