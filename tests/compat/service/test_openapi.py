"""The API as it is described: requests made from the description find no mistake of the server."""

from __future__ import annotations

import copy
import json
import random

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from compat.service.api.openapi import document
from tests.compat.service.running import JSON, OLD, RENUMBERED, plan

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]


SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]
NAMES = [operation.label for operation in OPERATIONS]
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])


def call_often(operation, service, profile):
    """Make requests as they are described, and others; none is a mistake of the server, and each answer is described."""

    @profile
    @given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def request(case):
        answer = case.call(base_url=service.url, headers={"Authorization": f"Bearer {service.tokens['admin']}"})
        case.validate_response(answer, checks=CHECKS)

    request()


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_described_requests(operation, service):
    call_often(operation, service, settings(QUIET, max_examples=5, derandomize=True))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_described_requests_at_length(operation, service):
    call_often(operation, service, settings(QUIET, max_examples=100))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def places(value, path=()):
    """The path of every value inside a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def damaged(value, path, junk):
    if not path:
        return junk
    inner = copy.deepcopy(value)
    at = inner
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = junk
    return inner


WHOLE = plan(*OLD)


def check_damaged(service, seed, junk):
    """A check with plans, some places of which hold something else, is answered, and leaves no mistake."""
    pick = random.Random(seed)
    broken = WHOLE
    for _ in range(pick.randint(1, 3)):
        path = pick.choice([path for path in places(broken) if path])
        broken = damaged(broken, path, junk)
    sides = [broken, plan(*RENUMBERED)]
    pick.shuffle(sides)
    body = json.dumps({"old": {"plan": sides[0]}, "new": {"plan": sides[1]}})
    answer = service.client("push").post("/checks", content=body, headers=JSON)
    assert answer.status_code in (201, 400, 422), answer.text
    if answer.status_code == 201:
        check = answer.json()["check"]["id"]
        page = service.client("push").get(f"{service.url}/checks/{check}", headers={"Accept": "text/html"})
        assert page.status_code in (200, 404)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), junk=JUNK)
def test_damaged_plans(service, seed, junk):
    check_damaged(service, seed, junk)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), junk=JUNK)
def test_damaged_plans_at_length(service, seed, junk):
    check_damaged(service, seed, junk)
