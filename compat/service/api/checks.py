"""Checks: make one, list them, get one."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from compat.check.findings import Finding
from compat.service import decisions, worker
from compat.service.access import require
from compat.service.body import read_body
from compat.service.context import Service, answer, blocking, page_size, path_number, query_number, raw, service, work
from compat.service.records import Acceptance, Check, Identity, Role, check_json
from compat.service.registry.checks import NewCheck
from compat.service.requests import RoleNeeded, check_request, job_name, may_ask


async def create(request: Request) -> Response:
    """Check one side against another; keep the check unless told not to."""
    parts = service(request)
    identity = require(request, Role.READ)
    body = await read_body(request, parts.settings)
    try:
        checked = await _checked(request, body, identity.role)
    except RoleNeeded as error:
        require(request, error.role)
        raise
    if not checked.record:
        observe(parts, checked)
        return raw(b'{"check":null,"report":' + checked.report + b"}")
    require(request, Role.PUSH, checked.job)
    check = await record(parts, checked, identity)
    return raw(with_report(check, checked.report), 201)


async def _checked(request: Request, body: bytes, role: Role) -> worker.Checked:
    """The check that a body asks for. Whether ``role`` may ask for it is told before anything is made of the plans."""
    if len(body) > decisions.LARGEST:
        return await work(request, worker.check_body, body, role, size=len(body))
    asked = check_request(body)
    may_ask(asked, role)
    parts = service(request)
    known = parts.decisions
    small = len(body) <= decisions.SMALL and parts.registry.database.at_once
    found = known.find(asked) if small else await blocking(known.find, asked)
    if found is None:
        found = await work(request, worker.check_request_of, asked, size=len(body))
        known.remember(asked, found)
    return found


async def record(parts: Service, checked: worker.Checked, identity: Identity) -> Check:
    """Keep a finished check."""
    observe(parts, checked)
    new = NewCheck(
        job=checked.job,
        old=checked.old,
        new=checked.new,
        verdict=checked.verdict,
        sentence=checked.sentence,
        errors=checked.errors,
        warnings=checked.warnings,
        commit=checked.commit,
        author=checked.author,
        by=identity.name,
        seconds=checked.seconds,
        report=checked.packed_report,
        options=checked.options,
        plans=checked.plans,
        accepted=tuple(_acceptance(finding, identity) for finding in checked.accepted),
    )
    return await blocking(parts.registry.checks.record, new, parts.settings.kept_checks)


def _acceptance(finding: Finding, identity: Identity) -> Acceptance:
    return Acceptance(
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        title=finding.title,
        reason=finding.ignored or "",
        by=identity.name,
    )


def observe(parts: Service, checked: worker.Checked) -> None:
    """Count a check."""
    parts.metrics.checks.labels(checked.verdict).inc()
    parts.metrics.check_seconds.observe(checked.seconds)


def with_report(check: Check, report: bytes) -> bytes:
    """The JSON of a check and its report."""
    return b'{"check":' + msgspec.json.encode(check_json(check)) + b',"report":' + report + b"}"


async def listing(request: Request) -> Response:
    """Checks, newest first."""
    parts = service(request)
    job = request.query_params.get("job")
    found = await blocking(
        parts.registry.checks.list,
        job=None if job is None else job_name(job),
        limit=page_size(request),
        before=query_number(request, "before", None),
    )
    return answer({"checks": [check_json(check) for check in found]})


async def get(request: Request) -> Response:
    """A check with its report."""
    parts = service(request)
    id = path_number(request, "id")
    check = await blocking(parts.registry.checks.get, id)
    return raw(with_report(check, await blocking(parts.registry.checks.report_text, id)))


ROUTES = [("POST", "/checks", create), ("GET", "/checks", listing), ("GET", "/checks/{id}", get)]
