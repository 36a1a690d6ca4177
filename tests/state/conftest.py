"""Helpers of the tests of state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat.state.serializers import codecs


@pytest.fixture(scope="module", autouse=True)
def rows_are_tuples() -> Iterator[None]:
    """Rows are read as tuples, as they are where no runtime has said otherwise."""
    made_by = codecs._row_class
    codecs.set_row_class(lambda _names, _kind, values: tuple(values))
    yield
    codecs.set_row_class(made_by)
