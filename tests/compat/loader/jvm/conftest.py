"""JVMs that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from unittest.mock import patch

import pytest

from compat import comparison
from compat.loader.jvm.warm import WarmJvms


@pytest.fixture(scope="module")
def shared_jvms() -> Iterator[None]:
    """The checks of a module are made in one JVM for each way to set one up, as those of a project are."""
    with WarmJvms() as jvms, patch.object(comparison, "WarmJvms", lambda: nullcontext(jvms)):
        yield
