"""The planner's options: all are listed, and what expressions mean under those that change it."""

import pytest

from compat.check.sql.options import (
    CASTS,
    OPTIONS,
    ZONE,
    Marks,
    Touches,
    depends_on_casts,
    depends_on_zone,
    marks_of,
    touches,
)
from tests.compat.sql import record_options

RECORDED = record_options.read()
INSTANT, LOCAL, TEXT = "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3)", "VARCHAR(2147483647)"


@pytest.mark.parametrize("version", RECORDED)
def test_every_option_of_a_planner_is_listed(version):
    names = {name for found in RECORDED[version].values() for name in found}
    assert len(names) > 80
    assert {name for name in names if touches(name) is None} == set()


def test_every_listed_name_is_of_some_option():
    names = {name for version in RECORDED.values() for found in version.values() for name in found}
    assert [one for one in OPTIONS if not any(name == one or name.startswith(one) for name in names)] == []


@pytest.mark.parametrize(
    ("option", "what"),
    [
        (ZONE, Touches.MEANING),
        ("table.exec.mini-batch.enabled", Touches.PLAN),
        ("table.exec.mini-batch.size", Touches.NOTHING),
        ("table.exec.async-lookup.timeout", Touches.NOTHING),
        ("table.exec.async-state.enabled", Touches.COMPARED),
        ("table.exec.miracle", None),
        ("table.local-time-zones", None),
    ],
)
def test_the_longest_name_counts(option, what):
    assert touches(option) is what


def call(name, *types, to="BIGINT"):
    operands = [{"kind": "INPUT_REF", "inputIndex": 0, "type": type} for type in types]
    return {"kind": "CALL", "internalName": f"${name}$1", "operands": operands, "type": to}


@pytest.mark.parametrize(
    ("given", "depends"),
    [
        (call("CAST", INSTANT, to=LOCAL), True),
        (call("CAST", TEXT, to=INSTANT), True),
        (call("CAST", INSTANT, to=TEXT), True),
        (call("CAST", INSTANT, to="TIMESTAMP(6) WITH LOCAL TIME ZONE"), False),
        (call("CAST", LOCAL, to=TEXT), False),
        (call("EXTRACT", "SYMBOL", INSTANT), True),
        (call("EXTRACT", "SYMBOL", LOCAL), False),
        (call("DATE_FORMAT", INSTANT, TEXT, to=TEXT), True),
        (call("DATE_FORMAT", LOCAL, TEXT, to=TEXT), False),
        (call("FROM_UNIXTIME", "BIGINT", to=TEXT), True),
        (call("UNIX_TIMESTAMP", TEXT), True),
        (call("UNIX_TIMESTAMP"), False),
        (call("CURRENT_DATE", to="DATE"), True),
        (call("CURRENT_TIMESTAMP", to=INSTANT), False),
        (call("<", INSTANT, INSTANT, to="BOOLEAN"), False),
        (call("<", INSTANT, LOCAL, to="BOOLEAN"), True),
        (call("TO_TIMESTAMP_LTZ", "BIGINT", "INT", to=INSTANT), False),
        ({"timeAttributeType": {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "kind": "ROWTIME"}}, True),
        ({"timeAttributeType": {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "kind": "ROWTIME"}}, False),
    ],
)
def test_what_depends_on_the_time_zone(given, depends):
    assert depends_on_zone(given) is depends


@pytest.mark.parametrize(
    ("source", "target", "depends"),
    [
        ("BOOLEAN", TEXT, True),
        ("VARBINARY(10)", TEXT, True),
        ("ROW<`a` INT>", TEXT, True),
        ({"type": "ROW", "fields": []}, TEXT, True),
        ("INT", "CHAR(3) NOT NULL", True),
        (TEXT, "BIGINT", True),
        ("INT", TEXT, False),
        ("INT", "DOUBLE", False),
        ("DECIMAL(10, 2)", "INT", False),
    ],
)
def test_which_casts_are_others_with_the_old_ones(source, target, depends):
    assert depends_on_casts(call("CAST", source, to=target)) is depends


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ({ZONE: "UTC"}, {ZONE: "Asia/Kolkata"}, True),
        ({ZONE: "UTC"}, {}, False),
        ({ZONE: "UTC"}, {ZONE: "default"}, False),
        ({CASTS: "ENABLED"}, {}, True),
        ({CASTS: "disabled"}, {}, False),
        ({}, {}, False),
    ],
)
def test_values_that_differ_and_are_known_mark_what_depends_on_them(old, new, marked):
    assert (marks_of(old, new) != (Marks(), Marks())) is marked
