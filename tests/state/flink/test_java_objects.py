"""Java's serialization format, read without Java."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink import DamagedSavepoint, SavepointError, TruncatedSavepoint
from compat.state.flink.binary import ByteReader
from compat.state.flink.java_objects import JavaArray, JavaClass, JavaEnum, JavaObject, JavaValue, read_java_object
from tests.state.flink import writer as w

REFERENCE = b"q"
FIRST = 0x7E0000
END = b"x"


def read(*parts: bytes) -> tuple[JavaValue, int]:
    """The first object of a stream, and how many bytes are behind it."""
    reader = ByteReader(w.JAVA_STREAM + b"".join(parts), "_metadata")
    return read_java_object(reader), reader.remaining


def to(number: int) -> bytes:
    """A reference to what was read before, by number."""
    return REFERENCE + w.integer(FIRST + number)


def plain(value: JavaValue) -> Any:
    """A value as Python's own."""
    match value:
        case JavaObject():
            return value.class_name, {name: plain(item) for name, item in value.fields.items()}
        case JavaEnum():
            return value.class_name, value.constant
        case JavaArray():
            return value.class_name, [plain(item) for item in value.items]
        case JavaClass():
            return value.name
    return value


POINT = w.java_class("Point", ("I", "x"), ("LText;", "label"))
"""Numbers 0 and 1 of a stream: the class, and the type of its field."""

CASES = {
    "nothing": (w.JAVA_NULL, None),
    "a string": (w.java_string("a"), "a"),
    "a long string": (b"|" + w.long(2) + b"ab", "ab"),
    "an enum": (w.java_enum("Color", "RED"), ("Color", "RED")),
    "an object": (
        w.java_object(POINT, w.integer(1), w.java_string("a")),
        ("Point", {"x": w.integer(1), "label": "a"}),
    ),
    "an object of a class that extends another": (
        w.java_object(w.java_class("Round", ("J", "r"), parent=POINT), w.integer(1), w.JAVA_NULL, w.long(2)),
        ("Round", {"x": w.integer(1), "label": None, "r": w.long(2)}),
    ),
    "an object that writes more than its fields": (
        w.java_object(
            w.java_class("Bag", ("B", "n"), flags=3),
            b"\x01",
            b"w\x02ab",
            w.java_string("a"),
            b"z" + w.sized(b"abc"),
            END,
        ),
        ("Bag", {"n": b"\x01"}),
    ),
    "an object that writes itself in blocks": (w.java_object(w.java_class("E", flags=12), b"w\x01a", END), ("E", {})),
    "an array of objects": (
        b"u" + w.java_class("[LText;") + w.integer(2) + w.java_string("a") + to(2),
        ("[LText;", ["a", "a"]),
    ),
    "an array of numbers": (b"u" + w.java_class("[S") + w.integer(2) + b"abcd", ("[S", [b"abcd"])),
    "a class": (b"v" + POINT, "Point"),
    "a proxy": (b"s}" + w.integer(1) + w.utf("Comparable") + END + w.JAVA_NULL, ("Comparable", {})),
    "a stream that was reset": (b"y" + w.java_string("a"), "a"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value(name: str) -> None:
    written, expected = CASES[name]
    value, left = read(written, b"more")
    assert plain(value) == expected
    assert left == 4


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_cut_off_is_missed(name: str) -> None:
    written, _ = CASES[name]
    for length in range(len(written)):
        with pytest.raises(TruncatedSavepoint):
            read(written[:length])


def test_an_object_can_hold_itself() -> None:
    node = w.java_class("Node", ("LNode;", "next"))
    value, _ = read(w.java_object(node, to(2)))
    assert isinstance(value, JavaObject)
    assert value.fields["next"] is value


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"\x00", "code 0x00"),
        (b"{", "code 0x7b"),
        (to(0), "a reference to a Java object that was not there"),
        (to(-1), "a reference to a Java object that was not there"),
        (w.java_object(POINT, w.integer(1), b"y" + to(0)), "a reference to a Java object that was not there"),
        (b"s" + w.java_string("a"), "something else in place of a Java class"),
        (b"sp", "a Java object without a class"),
        (w.java_object(w.java_class("C", ("Q", "q"))), "has type 'Q'"),
        (w.java_object(w.java_class("E", flags=4)), "a Java object of E"),
        (b"u" + w.java_class("Text") + w.integer(0), "a Java array of class 'Text'"),
        (b"u" + w.java_class("[I") + w.integer(-1), "-1 items"),
        (b"~" + w.java_class("Color") + w.JAVA_NULL, "without a name"),
    ],
)
def test_what_is_no_java_object(written: bytes, message: str) -> None:
    with pytest.raises(DamagedSavepoint, match=message):
        read(written)


def test_an_array_longer_than_the_file_costs_nothing() -> None:
    with pytest.raises(TruncatedSavepoint):
        read(b"u" + w.java_class("[LText;") + w.integer(2**31 - 1))


def test_objects_inside_of_each_other_without_end() -> None:
    node = w.java_class("Node", ("LNode;", "next"))
    with pytest.raises(DamagedSavepoint, match="without end"):
        read(w.java_object(node), (b"s" + to(0)) * 10_000)
    with pytest.raises(DamagedSavepoint, match="without end"):
        read(b"s", (b"r\0\1A" + w.long(1) + b"\2\0\0x") * 10_000)


@given(
    st.lists(st.sampled_from([*(written for written, _ in CASES.values()), to(0), to(1), END]) | st.binary(max_size=9))
)
def test_whatever_the_bytes_are_nothing_else_is_raised(parts: list[bytes]) -> None:
    with suppress(SavepointError):
        read(*parts)
