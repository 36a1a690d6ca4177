"""The commands by their groups: the module of each, and its name there."""

from __future__ import annotations

JOB = {
    "run": ("compat.cli.run", "run"),
    "list": ("compat.cli.jobs", "list_jobs"),
    "savepoint": ("compat.cli.jobs", "savepoint"),
    "stop": ("compat.cli.jobs", "stop"),
    "cancel": ("compat.cli.jobs", "cancel"),
    "discard": ("compat.cli.jobs", "discard"),
}
REGISTRY = {
    "push": ("compat.cli.push", "push"),
    "promote": ("compat.cli.promote", "promote"),
    "accept": ("compat.cli.accepted", "accept"),
    "accepted": ("compat.cli.accepted", "accepted"),
    "withdraw": ("compat.cli.accepted", "withdraw"),
    "mode": ("compat.cli.mode", "mode"),
    "delete": ("compat.cli.delete", "delete"),
    "token": ("compat.cli.tokens", "token"),
}
FORMER = {**JOB, **REGISTRY}
"""What had no group before goes on working without it, and no help names it so."""
