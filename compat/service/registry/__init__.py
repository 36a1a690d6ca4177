"""The registry: all that the service keeps. All other parts access it through a :class:`Registry`.

    registry = Registry(Database("sqlite:///compat.db"))
    registry.jobs.all()                      # jobs with the version that runs and the last check
    registry.checks.report(check.id)         # the report, as compat schema report describes it

Values are those of :mod:`compat.service.records`. Each call is one transaction and blocks; call it from a thread.
Raises SQLAlchemyError when the database does not answer.
"""

from __future__ import annotations

from compat.service.database import Database
from compat.service.registry.acceptances import Acceptances
from compat.service.registry.audit import Audit
from compat.service.registry.checks import Checks
from compat.service.registry.deletions import Deletions, Rule
from compat.service.registry.errors import Conflict, Expired, NotFound
from compat.service.registry.jobs import Jobs
from compat.service.registry.overview import Overview
from compat.service.registry.plans import Plans
from compat.service.registry.savepoints import Savepoints
from compat.service.registry.tokens import Tokens

__all__ = ["Conflict", "Expired", "NotFound", "Registry", "Rule"]


class Registry:
    """Jobs with their versions, plans, checks, savepoints and tokens, and the audit log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.plans = Plans(database)
        self.jobs = Jobs(database)
        self.checks = Checks(database)
        self.overview = Overview(database)
        self.deletions = Deletions(database)
        self.acceptances = Acceptances(database)
        self.savepoints = Savepoints(database)
        self.tokens = Tokens(database)
        self.audit = Audit(database)
