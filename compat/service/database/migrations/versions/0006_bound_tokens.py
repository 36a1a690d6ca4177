"""Tokens that are bound to jobs, and tokens that end."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns; the tokens that there are stay as they are: for all jobs, and without an end."""
    op.add_column("tokens", sa.Column("jobs", sa.Text))
    op.add_column("tokens", sa.Column("expires_at", sa.Double))
