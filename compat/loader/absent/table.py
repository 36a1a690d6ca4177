"""The Table API of PyFlink, which is in no environment without a JVM: programs may import it, and not use it."""

from __future__ import annotations

TABLE_API = "pyflink.table"


def root_of(module: str) -> str:
    """What a module is a part of, as one installs or lacks it: the Table API, or a package."""
    in_table_api = module == TABLE_API or module.startswith(f"{TABLE_API}.")
    return TABLE_API if in_table_api else module.partition(".")[0]


def needs_planner(what: str) -> str:
    """Why only PyFlink itself builds a program that uses something of the Table API."""
    return (
        f"{what} is a part of the Table API: its operators are made by Flink's planner, which only a JVM has. "
        "compat check and compat plan build such programs by PyFlink itself."
    )
