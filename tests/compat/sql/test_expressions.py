"""Expressions of compiled plans: what means the same is equal, and reads as SQL."""

import json

import msgspec
import pytest

from compat.check.sql.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Rex,
    canonical,
    columns_in,
    conjuncts,
    expression,
    text,
)
from compat.check.sql.nodes import field_names
from compat.check.sql.rows import content_of

A, B = Column("1", "a"), Column("1", "b")


def ref(index, type="BIGINT"):
    return {"kind": "INPUT_REF", "inputIndex": index, "type": type}


def literal(value, type="INT NOT NULL"):
    return {"kind": "LITERAL", "value": value, "type": type}


def call(name, *operands, type="BOOLEAN"):
    return {"kind": "CALL", "internalName": f"${name}$1", "operands": list(operands), "type": type}


def own(kind, name, class_name):
    return {"kind": "CALL", kind: name, "class": class_name, "operands": [ref(0)], "type": "BIGINT"}


def sarg(lower, upper, type="BIGINT"):
    lower, upper = ({"value": value, "boundType": bound} for value, bound in (lower, upper))
    ranges = {"ranges": [{"lower": lower, "upper": upper}], "nullAs": "UNKNOWN"}
    return call("SEARCH", ref(0, type), {"kind": "LITERAL", "sarg": ranges, "type": f"{type} NOT NULL"})


def sargs(*ranges, type="BIGINT"):
    ends = [[{"value": value, "boundType": "CLOSED"} for value in one] for one in ranges]
    found = {"ranges": [{"lower": lower, "upper": upper} for lower, upper in ends], "nullAs": "UNKNOWN"}
    return call("SEARCH", ref(0, type), {"kind": "LITERAL", "sarg": found, "type": f"{type} NOT NULL"})


def read(rex):
    return expression(msgspec.convert(rex, Rex), (A, B))


SAME = [
    (call("=", ref(0), ref(1)), call("=", ref(1), ref(0))),
    (call(">", ref(0), literal(3)), call("<", literal(3), ref(0))),
    (call(">=", ref(0), ref(1)), call("<=", ref(1), ref(0))),
    (call("AND", call("AND", ref(0), ref(1)), ref(0)), call("AND", ref(0), ref(0), ref(1))),
    (call("+", ref(0), ref(1)), call("+", ref(1), ref(0))),
    (call("=", ref(0), literal(3)), call("=", ref(0), literal(3, "BIGINT"))),
    (call("CAST", ref(0), type="BIGINT NOT NULL"), ref(0)),
    (call(">", ref(0), literal(20)), call(">=", ref(0), literal(21))),
    (call("<=", ref(0), literal(-1)), call("<", ref(0), literal(0))),
    (call("CASE", ref(0), ref(1), literal(0), type="BIGINT"), call("IF", ref(0), ref(1), literal(0), type="BIGINT")),
    (call("COALESCE", ref(0), literal(0)), call("IFNULL", ref(0), literal(0))),
    (call("COALESCE", ref(0), ref(1)), call("CASE", call("IS NULL", ref(0)), ref(1), ref(0), type="BIGINT")),
    (call("IF", call("IS NOT NULL", ref(0)), ref(0), ref(1), type="BIGINT"), call("COALESCE", ref(0), ref(1))),
    (call("COALESCE", ref(0), call("COALESCE", ref(1), ref(0))), call("COALESCE", ref(0), ref(1), ref(0))),
    (call("CONCAT", ref(0), ref(1), ref(0)), call("||", call("||", ref(0), ref(1)), ref(0))),
    (call("SUBSTR", ref(0), literal(1)), call("SUBSTRING", ref(0), literal(1))),
    (call("IS TRUE", call("NOT", ref(0))), call("IS FALSE", ref(0))),
    (call("IS NOT FALSE", call("NOT", ref(0))), call("IS NOT TRUE", ref(0))),
    (sargs((1, 1), (2, 2), (3, 4)), sargs((1, 4))),
    (own("catalogName", "`c`.`d`.`f`", "lab.Twice"), own("systemName", "g", "lab.Twice")),
    (sarg((21, "CLOSED"), (30, "CLOSED")), sarg((20, "OPEN"), (31, "OPEN"))),
    (sarg(("a", "CLOSED"), ("b", "CLOSED"), "CHAR(1)"), sarg(("a", "CLOSED"), ("b", "CLOSED"), "VARCHAR(2147483647)")),
]
OTHER = [
    (call("COALESCE", ref(0), ref(1)), call("COALESCE", ref(1), ref(0))),
    (call("COALESCE", ref(0), ref(1)), call("CASE", call("IS NULL", ref(1)), ref(1), ref(0), type="BIGINT")),
    (
        call("COALESCE", ref(0), literal("a")),
        call("CASE", call("IS NULL", ref(0)), literal("a"), ref(0), type="CHAR(3)"),
    ),
    (call("IS TRUE", call("NOT", ref(0))), call("IS NOT TRUE", ref(0))),
    (call("||", ref(0), ref(1)), call("||", ref(1), ref(0))),
    (sargs((1, 1), (3, 4)), sargs((1, 4))),
    (sargs((1, 1), (2, 2), type="DOUBLE"), sargs((1, 2), type="DOUBLE")),
    (sarg(("a", "CLOSED"), ("b", "CLOSED"), "CHAR(1)"), sarg(("a", "CLOSED"), ("b", "OPEN"), "CHAR(1)")),
    (sarg(("a", "CLOSED"), ("b", "CLOSED"), "CHAR(1)"), sarg(("a", "CLOSED"), ("b", "CLOSED"), "BINARY(1)")),
    (call("-", ref(0), ref(1)), call("-", ref(1), ref(0))),
    (call(">", ref(0), literal(3)), call(">=", ref(0), literal(3))),
    (call("=", ref(0), literal("3", "CHAR(1) NOT NULL")), call("=", ref(0), literal(3))),
    (call("CAST", ref(0), type="INT"), call("CAST", ref(0), type="DOUBLE")),
    (call(">", ref(0, "DOUBLE"), literal(20)), call(">=", ref(0, "DOUBLE"), literal(21))),
    (call(">", ref(0), literal(20)), call(">=", ref(0), literal(22))),
    (call(">=", ref(0), literal(-(2**63))), call(">", ref(0), literal(2**63 - 1))),
    (
        call("CASE", ref(0), ref(1), literal("a"), type="CHAR(3)"),
        call("IF", ref(0), ref(1), literal("a"), type="CHAR(3)"),
    ),
    (own("systemName", "f", "lab.Twice"), own("systemName", "f", "lab.Thrice")),
    (own("systemName", "f", ""), own("systemName", "g", "")),
    (sarg((20, "CLOSED"), (30, "CLOSED")), sarg((20, "OPEN"), (31, "OPEN"))),
    (sarg((21, "CLOSED"), (30, "CLOSED"), "DOUBLE"), sarg((20, "OPEN"), (31, "OPEN"), "DOUBLE")),
    (call("AND", ref(0), ref(1)), call("OR", ref(0), ref(1))),
    (literal("2020-01-01", "DATE NOT NULL"), literal("2020-01-01", "CHAR(10) NOT NULL")),
]


def place(given):
    """A column is called by its place here."""
    return given.place if isinstance(given, Column) else None


@pytest.mark.parametrize(("one", "two"), SAME)
def test_what_means_the_same_is_equal(one, two):
    assert canonical(read(one)) == canonical(read(two))


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_what_means_something_else_is_not(one, two):
    assert canonical(read(one)) != canonical(read(two))


@pytest.mark.parametrize(
    ("rex", "shown"),
    [
        (call(">", ref(0), literal(3)), "a > 3"),
        (call("<", literal(3), ref(0)), "a > 3"),
        (call("AND", call("=", ref(0), ref(1)), call("IS NOT NULL", ref(0))), "(a = b) AND (a IS NOT NULL)"),
        (call("SUBSTRING", ref(0), literal(1)), "SUBSTRING(a, 1)"),
        (call("CAST", ref(0), type="DOUBLE"), "CAST(a AS DOUBLE)"),
        (call("CASE", ref(0), literal(1), literal(0)), "CASE WHEN a THEN 1 ELSE 0 END"),
        (call("=", ref(0), literal("x", "CHAR(1) NOT NULL")), "a = 'x'"),
        ({"kind": "CALL", "catalogName": "`c`.`d`.`f`", "operands": [ref(0)], "type": "INT"}, "f(a)"),
        (own("systemName", "f", "lab.Twice"), "f(a)"),
        (sarg((21, "CLOSED"), (30, "OPEN")), "a >= 21 AND a < 30"),
        (sarg((7, "CLOSED"), (7, "CLOSED")), "a = 7"),
    ],
)
def test_an_expression_reads_as_sql(rex, shown):
    assert text(read(rex), place) == shown


@pytest.mark.parametrize(
    "rex",
    [call(">=", ref(0), literal(21)), call("IF", ref(0), ref(1), literal(0)), own("systemName", "f", "lab.Twice")],
)
def test_the_one_form_is_shown_as_it_was_written(rex):
    assert text(canonical(read(rex)), place) == text(read(rex), place)


LOOKED_UP = {"connector": "jdbc", "url": "jdbc:derby:memory:db", "table-name": "cities"}


def looked_up(key=0, **options):
    """A lookup join, as a plan has it."""
    resolved = {"schema": {"columns": [{"name": "k", "dataType": "INT"}]}, "options": LOOKED_UP | options}
    table = {"lookupTableSource": {"table": {"identifier": "`c`.`d`.`cities`", "resolvedTable": resolved}}}
    return json.dumps({"temporalTable": table, "lookupKeys": {"0": {"type": "FieldRef", "index": key}}})


@pytest.mark.parametrize(
    "same", [{"lookup.cache": "NONE"}, {"password": "x", "username": "u"}, {"scan.fetch-size": "9"}]
)
def test_how_a_table_is_looked_up_is_no_part_of_what_it_is(same):
    assert content_of(looked_up(**same), (A, B)) == content_of(looked_up(), (A, B))


@pytest.mark.parametrize("other", [{"table-name": "towns"}, {"url": "jdbc:derby:memory:other"}, {"key": 1}])
def test_another_table_or_key_is_another_lookup(other):
    assert content_of(looked_up(**other), (A, B)) != content_of(looked_up(), (A, B))


def test_the_key_of_a_lookup_is_a_column_wherever_it_stands():
    assert content_of(looked_up(key=1), (B, A)) == content_of(looked_up(), (A, B))


def test_conditions_are_told_apart():
    both = canonical(read(call("AND", call("=", ref(0), literal(1)), call("AND", ref(1), ref(0)))))
    assert set(conjuncts(both)) == {A, B, Call("=", (A, Literal("1")))}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ("ROW<`k` INT, `n` BIGINT NOT NULL>", ("k", "n")),
        ("ROW<`r` ROW<`x` INT, `y` INT>, `odd``, name` INT 'a comment, `no name`'>", ("r", "odd`, name")),
        ("ROW<`m` MAP<VARCHAR(10), ROW<`z` INT>>, `d` DECIMAL(10, 2)>", ("m", "d")),
        ({"type": "ROW", "fields": [{"name": "ts", "fieldType": {"type": "TIMESTAMP"}}]}, ("ts",)),
        (None, ()),
    ],
)
def test_the_names_of_a_row_type(row, names):
    assert field_names(row) == names


COUNT, SUM = Column("agg", "0"), Column("agg", "1")
NULL, ZERO = Literal("null"), Literal("0")


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (Call("CASE", (Call("=", (COUNT, ZERO)), NULL, SUM)), [SUM]),
        (Call("CASE", (Call(">", (COUNT, ZERO)), SUM, NULL)), [SUM]),
        (Call("/", (Call("CASE", (Call("=", (COUNT, ZERO)), NULL, SUM)), COUNT)), [SUM, COUNT]),
        (Call("CASE", (Call(">", (COUNT, Literal("10"))), SUM, NULL)), [COUNT, SUM]),
        (Call("CASE", (Call(">", (COUNT, ZERO)), SUM, ZERO)), [COUNT, SUM]),
        (Call("CASE", (Call(">", (COUNT, ZERO)), SUM, Literal("null", "VARCHAR"))), [COUNT, SUM]),
        (ZERO, []),
    ],
)
def test_a_count_that_makes_a_null_of_zero_is_no_part_of_a_value(given: Expression, columns: list[Column]) -> None:
    assert list(columns_in(given)) == columns
