"""One service for all tests that only talk to it; each uses jobs of its own."""

from __future__ import annotations

import signal
import uuid

import pytest

from tests.compat.service.running import serve


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    running = serve(tmp_path_factory.mktemp("service"))
    yield running
    assert running.stop() in (0, -signal.SIGTERM)


@pytest.fixture
def job():
    return f"job {uuid.uuid4().hex[:8]}"
