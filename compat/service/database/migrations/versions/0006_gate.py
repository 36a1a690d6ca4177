"""What the gate asks of jobs and tokens, whose programs plans are, and numbers that are given once."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns, empty for all that is there: tokens are for all jobs and have no end, a new version restores the one
    that runs, nobody knows the programs of plans, and versions were built by who pushed them.

    The last number of each job is kept, and SQLite gives no number of a check again, as PostgreSQL never does.
    """
    for table, column in (
        ("tokens", sa.Column("jobs", sa.Text)),
        ("tokens", sa.Column("expires_at", sa.Double)),
        ("jobs", sa.Column("compatibility", sa.Text)),
        ("plans", sa.Column("program", sa.String(71))),
        ("versions", sa.Column("built", sa.Boolean)),
    ):
        op.add_column(table, column)
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
