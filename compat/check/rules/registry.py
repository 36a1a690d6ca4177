"""All rules: each is a generator of findings over a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compat.check.context import Check
from compat.check.findings import Finding
from compat.check.rules import (
    cmp101,
    cmp102,
    cmp103,
    cmp104,
    cmp106,
    cmp107,
    cmp108,
    cmp110,
    cmp201,
    cmp301,
    cmp302,
    cmp303,
    cmp304,
    cmp401,
    cmp402,
    cmp403,
    cmp404,
    cmp406,
    cmp407,
    cmp408,
    cmp409,
    cmp410,
    cmp411,
    cmp412,
    cmp413,
    cmp414,
    cmp601,
    cmp602,
    cmp603,
)

Rule = Callable[[Check], Iterator[Finding]]

ALL: tuple[Rule, ...] = (
    cmp101.find,
    cmp102.find,
    cmp103.find,
    cmp104.find,
    cmp106.find,
    cmp107.find,
    cmp108.find,
    cmp110.find,
    cmp201.find,
    cmp301.find,
    cmp302.find,
    cmp303.find,
    cmp304.find,
    cmp401.find,
    cmp402.find,
    cmp403.find,
    cmp404.find,
    cmp406.find,
    cmp407.find,
    cmp408.find,
    cmp409.find,
    cmp410.find,
    cmp411.find,
    cmp412.find,
    cmp413.find,
    cmp414.find,
    cmp601.find,
    cmp602.find,
    cmp603.find,
)
