"""Input formats. Flink: ``pyflink.common.io``."""

from __future__ import annotations

from compat.compiler.datastream.common.utils import JavaObjectWrapper

__all__ = ["InputFormat"]


class InputFormat(JavaObjectWrapper):
    """Reads records from files or the like, as ``env.create_input`` takes it (Flink: ``InputFormat``)."""


class TextInputFormat(InputFormat):
    """The lines of a file or of the files of a folder (Flink: ``TextInputFormat``)."""

    def __init__(self, path: str, charset: str) -> None:
        super().__init__(type(self).__name__)
        self.settings = {"path": path, "charset": charset}
