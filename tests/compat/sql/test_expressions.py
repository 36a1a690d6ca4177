"""Expressions of compiled plans: what means the same is equal, and reads as SQL."""

import msgspec
import pytest

from compat.check.sql.expressions import Call, Column, Literal, Rex, canonical, conjuncts, expression, text
from compat.check.sql.nodes import field_names

A, B = Column("1", "a"), Column("1", "b")


def ref(index, type="BIGINT"):
    return {"kind": "INPUT_REF", "inputIndex": index, "type": type}


def literal(value, type="INT NOT NULL"):
    return {"kind": "LITERAL", "value": value, "type": type}


def call(name, *operands, type="BOOLEAN"):
    return {"kind": "CALL", "internalName": f"${name}$1", "operands": list(operands), "type": type}


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
]
OTHER = [
    (call("-", ref(0), ref(1)), call("-", ref(1), ref(0))),
    (call(">", ref(0), literal(3)), call(">=", ref(0), literal(3))),
    (call("=", ref(0), literal("3", "CHAR(1) NOT NULL")), call("=", ref(0), literal(3))),
    (call("CAST", ref(0), type="INT"), call("CAST", ref(0), type="DOUBLE")),
    (call("AND", ref(0), ref(1)), call("OR", ref(0), ref(1))),
    (literal("2020-01-01", "DATE NOT NULL"), literal("2020-01-01", "CHAR(10) NOT NULL")),
]


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
    ],
)
def test_an_expression_reads_as_sql(rex, shown):
    assert text(read(rex), lambda column: column.place) == shown


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
