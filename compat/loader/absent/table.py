"""PyFlink's Table API, which needs a JVM: programs may import it here, but not use it."""

from __future__ import annotations

TABLE_API = "pyflink.table"


def root_of(module: str) -> str:
    """The unit of installation that a module belongs to: the Table API, or a package."""
    in_table_api = module == TABLE_API or module.startswith(f"{TABLE_API}.")
    return TABLE_API if in_table_api else module.partition(".")[0]


def needs_planner(what: str) -> str:
    """Why only PyFlink itself builds a program that uses a name of the Table API."""
    return (
        f"{what} is part of the Table API: Flink's planner, which needs a JVM, creates its operators. "
        "compat check and compat plan build such programs by PyFlink itself."
    )
