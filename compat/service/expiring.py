"""Deletes expired versions regularly, by the rule of the service."""

from __future__ import annotations

import asyncio

from sqlalchemy.exc import SQLAlchemyError

from compat.service.context import Service, blocking
from compat.service.telemetry import log


async def keep_expiring(parts: Service) -> None:
    """Delete expired versions until cancelled; nothing without a rule. Errors are logged, and the deletion is repeated
    later.
    """
    rule = parts.settings.expiry
    while rule is not None:
        try:
            gone = await blocking(parts.registry.deletions.expire, rule)
        except SQLAlchemyError as error:
            log("expiry", level="error", error=str(getattr(error, "orig", None) or error))
        else:
            if gone:
                log("expiry", versions=gone, keep=rule.keep, days=rule.days)
        await asyncio.sleep(parts.settings.expiry_interval)
