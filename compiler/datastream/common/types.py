"""Rows. Flink: ``pyflink.common.types``."""

from __future__ import annotations

from compat.state.rows import Row, RowKind
from compat.state.rows import _create_row as _create_row  # pickled rows of earlier versions name it

__all__ = ["Row", "RowKind"]
