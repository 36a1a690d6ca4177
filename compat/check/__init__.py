"""The check: state mapping, rules, verdict. No I/O. Names load when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.check.context import CheckOptions
    from compat.check.decision import check
    from compat.check.ledger import verdict

__all__ = ["CheckOptions", "check", "verdict"]


def __getattr__(name: str) -> Any:
    if name == "CheckOptions":
        from compat.check.context import CheckOptions

        return CheckOptions
    if name == "check":
        from compat.check.decision import check

        return check
    if name == "verdict":
        from compat.check.ledger import verdict

        return verdict
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
