"""What a new version of a job has to restore, job by job."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column; the jobs that there are go on as they did: a new version restores the one that runs."""
    op.add_column("jobs", sa.Column("compatibility", sa.Text))
