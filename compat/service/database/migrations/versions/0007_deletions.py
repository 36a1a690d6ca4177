"""Numbers of versions and checks are given once, also where what had them was deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the last number of each job, and have SQLite give no number of a check again; PostgreSQL never does."""
    op.create_table(
        "numbers",
        sa.Column("job", sa.String(200), primary_key=True),
        sa.Column("last", sa.Integer, nullable=False),
    )
    op.execute(
        "INSERT INTO numbers (job, last) SELECT jobs.name, max(versions.number) "
        "FROM jobs JOIN versions ON versions.job = jobs.id GROUP BY jobs.name"
    )
    if op.get_bind().dialect.name == "sqlite":
        with op.batch_alter_table("checks", recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
