"""Whose Flink a program gets, where OLD and NEW are told different things."""

from __future__ import annotations

import pytest

from compat.loader.inputs import FlinkJars

NEW = FlinkJars(classpath=("new.jar",), version="2.3.0", main_class="Main")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (FlinkJars(), NEW),
        (FlinkJars(version="1.20.0"), FlinkJars(version="1.20.0", main_class="Main")),
        (FlinkJars(home="/opt/flink"), FlinkJars(home="/opt/flink", main_class="Main")),
        (FlinkJars(classpath=("old.jar",)), FlinkJars(classpath=("old.jar",), version="2.3.0", main_class="Main")),
        (
            FlinkJars(classpath=("old.jar",), version="1.20.0"),
            FlinkJars(classpath=("old.jar",), version="1.20.0", main_class="Main"),
        ),
    ],
)
def test_a_class_path_alone_does_not_take_the_flink_away(own: FlinkJars, expected: FlinkJars) -> None:
    """A library of the old program is no Flink; with a Flink of its own on it, that comes first (`find_flink`)."""
    assert own.over(NEW) == expected
