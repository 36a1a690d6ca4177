"""The rule catalogue."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from compat.check.catalogue import RULES, as_dict, find
from compat.service.context import answer
from compat.service.registry import NotFound


async def listing(_: Request) -> Response:
    """All rules, in the order of their ids."""
    return answer({"format": 1, "rules": [as_dict(rule) for rule in RULES.values()]})


async def get(request: Request) -> Response:
    """One rule, by id or name."""
    rule = find(request.path_params["rule"])
    if rule is None:
        raise NotFound(f"There is no rule {request.path_params['rule'][:60]!r}.")
    return answer(as_dict(rule))


ROUTES = [("GET", "/rules", listing), ("GET", "/rules/{rule}", get)]
