"""The programs that are sent to a cluster, as they arrive over HTTP."""

from __future__ import annotations

import re

from starlette.requests import Request

from compat.cluster.submission import DEPLOYMENT, SUBMISSION
from compat.service.body import BodyRefused, read_body
from compat.service.settings import ServiceSettings

_ID = re.compile(r"[0-9a-f]{32}")
_COMMANDS = {SUBMISSION: ("job", "compat job run --cluster"), DEPLOYMENT: ("deployment", "compat deploy")}
"""What each kind is called in addresses, and the command that sends it."""


async def received(request: Request, kind: str, settings: ServiceSettings) -> tuple[str, bytes]:
    """The id that the sender chose, and the unread body. ``kind`` is its media type. Raises BodyRefused."""
    name, command = _COMMANDS[kind]
    id: str = request.path_params[name]
    if not _ID.fullmatch(id):
        raise BodyRefused(400, f"A {name}'s id has 32 hexadecimal digits, chosen by who sends it.")
    if request.headers.get("content-type", "") != kind:
        raise BodyRefused(415, f"Send a {name}, as {command} does: Content-Type: {kind}.")
    return id, await read_body(request, settings, json=False)
