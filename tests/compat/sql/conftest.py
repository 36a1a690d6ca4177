"""Flink for the tests that build scripts."""

from tests.compat.loader.jvm.conftest import flink, java

__all__ = ["flink", "java"]
