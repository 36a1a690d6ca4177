"""Bytes with other parts: counts and lengths before what changes fit what is there."""

from __future__ import annotations

import pytest

from compat.state.flink.binary import ByteReader, Part, Place
from compat.state.flink.splicing import splice
from tests.state.flink import writer as w


def test_without_any_change_the_bytes_are_the_same() -> None:
    data = b"abc" + w.sized(b"inner") + w.listed([b"x", b"yy"])
    places = [Place(Part.FRAME, 3, 12), Place(Part.OPERATORS, 12, 19)]
    places += [Place(Part.OPERATOR, 16, 17), Place(Part.OPERATOR, 17, 19)]
    assert splice(data, places, lambda place: None) == data


def test_a_frame_has_the_length_of_what_is_in_it() -> None:
    data = b"<" + w.sized(b"a" + w.sized(b"name") + b"z") + b">"
    outer, inner, name = Place(Part.FRAME, 1, 15), Place(Part.FRAME, 6, 14), Place(Part.CLASS_NAME, 10, 14)
    written = splice(data, [name, inner, outer], lambda place: b"longer name" if place == name else None)
    assert written == b"<" + w.sized(b"a" + w.sized(b"longer name") + b"z") + b">"


@pytest.mark.parametrize(
    ("dropped", "added", "expected"),
    [
        ((), (), [b"aa", b"b"]),
        ((b"aa",), (), [b"b"]),
        ((), (b"new",), [b"aa", b"b", b"new"]),
        ((b"aa", b"b"), (b"x",), [b"x"]),
    ],
)
def test_a_count_is_that_of_the_parts_that_are_left(
    dropped: tuple[bytes, ...], added: tuple[bytes, ...], expected: list[bytes]
) -> None:
    data = w.listed([b"aa", b"b"]) + b"end"
    places = [Place(Part.OPERATORS, 0, 7), Place(Part.OPERATOR, 4, 6), Place(Part.OPERATOR, 6, 7)]
    written = splice(
        data, places, lambda place: b"" if data[place.begin : place.end] in dropped else None, lambda place: added
    )
    assert written == w.listed(expected) + b"end"


def test_nobody_is_asked_for_parts_within_one_that_is_replaced() -> None:
    asked: list[Part] = []

    def new(place: Place) -> bytes | None:
        asked.append(place.part)
        return b"!" if place.part is Part.STATE else None

    places = [Place(Part.STATE, 1, 5), Place(Part.STATE_NAME, 2, 4), Place(Part.FILE, 5, 6)]
    assert splice(b"0123456", places, new) == b"0!56"
    assert asked == [Part.STATE, Part.FILE]


def test_the_bytes_before_the_beginning_are_left_out() -> None:
    assert splice(b"0123456", [Place(Part.FILE, 4, 5)], lambda place: b"x", begin=2) == b"23x56"


def test_a_reader_within_a_window_notes_places_of_the_whole() -> None:
    places: list[Place] = []
    reader = ByteReader(b"ab" + w.utf("name") + b"z", "", places=places)
    reader.raw(2, "two")
    window = reader.window(6, "a name")
    begin = window.position
    window.utf()
    window.note(Part.FIELD_NAME, begin, "Owner")
    assert places == [Place(Part.FIELD_NAME, 2, 8, "Owner")]
