"""The checks of deployments that move state by a recipe."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; existing deployments have moved nothing."""
    op.add_column("cluster_deployments", sa.Column("checked", sa.Text))
