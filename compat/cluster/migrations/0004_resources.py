"""The resources that jobs need besides slots."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; they are unknown for existing jobs."""
    op.add_column("cluster_jobs", sa.Column("cores", sa.Double, nullable=False, server_default="0"))
    op.add_column("cluster_jobs", sa.Column("memory", sa.BigInteger, nullable=False, server_default="0"))
