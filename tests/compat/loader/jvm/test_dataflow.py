"""What values code may have at hand when it calls something: told from class files, without a JVM."""

import zipfile
from pathlib import Path

import pytest

from compat.loader.jvm.classfile import ClassFile, Constant, arguments
from compat.loader.jvm.dataflow import UNKNOWN, Flow, Frame, Result, TooLong, _moved, anything, known

ASKED = Path(__file__).parents[3] / "golden" / "java" / "asked" / "asked.jar"


class Texts:
    """A world in which fields hold what the test says, and calls are noted with the texts and numbers that they are given."""

    def __init__(self, **fields):
        self.fields, self.calls = fields, {}

    def call(self, one, given, where):
        values = [{term.value for term in value.terms or () if isinstance(term, Constant)} for value in given]
        self.calls.setdefault(one.method.name, []).append(values)
        return Result(UNKNOWN)

    def read(self, one, of):
        return self.fields.get(one.field.name, UNKNOWN)

    def write(self, one, of, value):
        self.fields[one.field.name] = value

    def dynamic(self, one, captured):
        return known(*(Constant("String", f"of-{term.value}") for term in captured[0].terms or ()))

    def cast(self, name, value):
        return value


def followed(cls, name, world):
    with zipfile.ZipFile(ASKED) as archive:
        file = ClassFile(archive.read(f"shop/asked/Asked${cls}.class"))
    method = next(one for one in file.methods if one.name == name)
    Flow(world).run(method, anything(method))
    return world.calls


def text(value):
    return known(Constant("String", value))


def test_constants_reach_what_is_called():
    assert [given[1] for given in followed("Constants", "see", Texts())["<init>"]] == [
        {"long"},
        {"map"},
        set(),
        {"hint"},
    ]


def test_a_branch_whose_condition_is_known_is_taken_one_way():
    calls = followed("OfFields", "see", Texts(name=text("x"), days=known(Constant("I", 0))))
    assert "enableTimeToLive" not in calls
    calls = followed("OfFields", "see", Texts(name=text("x"), days=known(Constant("I", 5))))
    assert calls["ofDays"] == [[{5}]]


def test_a_branch_whose_condition_is_not_known_is_taken_both_ways():
    calls = followed("InMap", "see", Texts())
    assert {"x", "y"} in calls["get"][-1]


def test_values_of_both_ways_are_joined_and_too_many_are_none():
    one, other = known(Constant("I", 1)), known(Constant("I", 2))
    assert one.joined(other).terms == one.terms | other.terms
    assert one.joined(UNKNOWN) == UNKNOWN
    many = known(*(Constant("I", number) for number in range(16)))
    assert many.joined(known(Constant("I", 16))) == UNKNOWN


@pytest.mark.parametrize(
    ("opcode", "before", "after"),
    [
        (0x57, "ab", "a"),  # pop
        (0x59, "ab", "abb"),  # dup
        (0x5A, "ab", "bab"),  # dup_x1
        (0x5B, "abc", "cabc"),  # dup_x2
        (0x5B, "Wc", "cWc"),
        (0x5C, "ab", "abab"),  # dup2
        (0x5C, "aW", "aWW"),
        (0x5D, "abc", "bcabc"),  # dup2_x1
        (0x5D, "aW", "WaW"),
        (0x5E, "abcd", "cdabcd"),  # dup2_x2
        (0x5F, "ab", "ba"),  # swap
    ],
)
def test_words_move_on_the_stack(opcode, before, after):
    values = {name: known(name, wide=name == "W") for name in "abcdW"}
    frame = _moved(opcode, Frame({}, tuple(values[name] for name in before)))
    assert frame.stack == tuple(values[name] for name in after)


def test_arguments_are_counted_by_their_types():
    assert arguments("(J[Ljava/lang/String;[[IZ)V") == ["J", "[Ljava/lang/String;", "[[I", "Z"]


def test_a_stack_that_is_too_short_is_code_that_cannot_be_followed():
    with pytest.raises(TooLong):
        Frame({}, ()).pop(1)
