"""Input formats. Flink: ``pyflink.common.io``."""

from __future__ import annotations

from compat.compiler.datastream.common.utils import JavaObjectWrapper

__all__ = ["InputFormat"]


class InputFormat(JavaObjectWrapper):
    """Reads records from files or the like, as ``env.create_input`` takes it (Flink: ``InputFormat``)."""
