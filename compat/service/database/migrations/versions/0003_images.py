"""The container image that a version was pushed with."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; of versions that were pushed before nobody knows the image."""
    op.add_column("versions", sa.Column("image", sa.String(71)))
    op.create_index("versions_by_image", "versions", ["image"])
