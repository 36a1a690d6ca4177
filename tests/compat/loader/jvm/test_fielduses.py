"""What code does with its fields, read from class files: no JVM is needed."""

import zipfile

import pytest

from compat.loader.jvm.classfile import ClassFile
from compat.loader.jvm.fielduses import FieldUses
from tests.compat.java_pairs.build import JARS


def uses(side, name):
    with zipfile.ZipFile(JARS / f"{side}.jar") as jar:
        return FieldUses(ClassFile(jar.read(f"pairs/{name}.class")))


def method(found, name):
    """The method of this name that is no bridge: the first."""
    return next(one for one in found.cls.methods if one.name == name)


@pytest.mark.parametrize(
    ("name", "called", "fields"),
    [
        ("Parts$Sides", "processElement1", {"left"}),
        ("Parts$Sides", "processElement2", {"right"}),
        ("Parts$Sides", "open", {"left", "right"}),
        ("ConnectExchangedOverOneState$Both", "processElement1", {"seen"}),
        ("Parts$Count", "processElement", {"n", "label"}),
    ],
)
def test_fields_are_found_in_what_a_method_calls_too(name, called, fields):
    found = uses("new", name)
    assert found.used(method(found, called)) == fields


@pytest.mark.parametrize(
    ("name", "called", "fields"),
    [
        ("Parts$Sides", "processElement1", {"left"}),
        ("Parts$Sides", "processElement2", {"right"}),
        ("Parts$Sides", "open", set()),
        ("ConnectExchangedOverOneState$Both", "processElement2", {"seen"}),
        ("Parts$Count", "processElement", {"n"}),
    ],
)
def test_fields_are_found_into_whose_states_a_method_puts_something(name, called, fields):
    found = uses("new", name)
    assert found.changed(method(found, called)) == fields


def test_a_field_that_is_renamed_is_the_same_under_the_name_of_its_state():
    old, new = (uses(side, "FieldsRenamed$F") for side in ("old", "new"))
    before, after = method(old, "processElement"), method(new, "processElement")
    assert old.text(before, {}, {}) != new.text(after, {}, {})
    assert old.text(before, {"small": "x", "big": "y"}, {}) == new.text(after, {"big": "x", "small": "y"}, {})


def test_code_that_uses_exchanged_states_is_another_one_under_their_names():
    old, new = (uses(side, "StateNamesExchanged$F") for side in ("old", "new"))
    before, after = method(old, "processElement"), method(new, "processElement")
    assert old.text(before, {}, {}) == new.text(after, {}, {})
    assert old.text(before, {"small": "x", "big": "y"}, {}) != new.text(after, {"small": "y", "big": "x"}, {})


def test_the_names_of_states_are_told():
    found = uses("old", "StateNamesExchanged$F")
    assert set(found.texts(method(found, "open"))) == {"x", "y"}
    assert list(found.texts(method(found, "processElement"))) == []
