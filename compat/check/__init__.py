"""The check: state mapping, rules, verdict. No I/O."""

from compat.check.check import check, verdict
from compat.check.context import CheckOptions

__all__ = ["CheckOptions", "check", "verdict"]
