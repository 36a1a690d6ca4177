"""Alembic's entry point: runs the migrations within the connection that was handed over."""

from alembic import context

_given = context.config.attributes
context.configure(connection=_given["connection"], version_table=_given["form"], transaction_per_migration=False)
context.run_migrations()
