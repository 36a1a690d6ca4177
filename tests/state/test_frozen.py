"""Frozen records behave as frozen data classes do."""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, field, replace

import pytest

from compat.state.frozen import frozen


@frozen
class Named:
    """Fields by name only."""

    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)
    fourth: int = field(default=0, compare=False)


@frozen(kw_only=False)
class Placed:
    """Fields by place too; the first is positive."""

    first: int
    second: str = "b"

    def __post_init__(self) -> None:
        if self.first < 1:
            raise ValueError("not positive")


def test_fields_defaults_and_values() -> None:
    one = Named(first=1)
    assert (one.first, one.second, one.third) == (1, "b", [])
    assert Named(first=1).third is not one.third
    assert replace(one, second="c") == Named(first=1, second="c")
    assert one == Named(first=1, fourth=7) != Named(first=2)
    assert [each.name for each in dataclasses.fields(one)] == ["first", "second", "third", "fourth"]
    assert repr(Placed(1)) == "Placed(first=1, second='b')"
    assert hash(Placed(1)) == hash(Placed(1, "b"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Named(1),
        lambda: Named(),
        lambda: Named(first=1, other=2),
        lambda: Placed(),
        lambda: Placed(1, "b", 3),
        lambda: Placed(1, first=1),
    ],
)
def test_what_does_not_fit_is_refused(make) -> None:
    with pytest.raises(TypeError):
        make()


def test_a_record_does_not_change_and_may_refuse_its_fields() -> None:
    with pytest.raises(FrozenInstanceError):
        Placed(1).first = 2
    with pytest.raises(ValueError, match="not positive"):
        Placed(0)
    with pytest.raises(ValueError, match="not positive"):
        replace(Placed(1), first=-1)
