"""The table of the remains of jobs that are no longer listed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "cluster_former",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("job", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("state", sa.Text),
    )
