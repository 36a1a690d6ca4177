"""The pytest plugin: ``assert_compatible`` as a fixture. The check is imported only when a test asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def assert_compatible(pytestconfig: pytest.Config) -> Callable[..., Any]:
    """``assert_compatible(old, new, **options)`` fails with the report unless NEW restores the state of OLD.

    Paths are relative to the root of the project. The options are those of :func:`compat.testing.assert_compatible`.
    """
    from compat import testing

    def assert_compatible(old: testing.Job, new: testing.Job, **options: Any) -> Any:
        __tracebackhide__ = True
        return testing.assert_compatible(
            _from_root(old, pytestconfig.rootpath), _from_root(new, pytestconfig.rootpath), **options
        )

    return assert_compatible


def _from_root(job: str | os.PathLike[str], root: Path) -> str:
    """A path of the project, relative to the working directory."""
    text = os.fspath(job)
    return text if text.startswith("git:") else os.path.relpath(root / text)
