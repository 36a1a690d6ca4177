"""Families of operator kinds that keep their state in the same way."""

from __future__ import annotations

from compat.state.model.operators import Operator

FAMILIES = {
    "source": "source",
    "legacy_source": "legacy source",
    "file_monitor": "monitor of files",
    "file_split_reader": "reader of files",
    "keyed_map": "keyed function",
    "keyed_flat_map": "keyed function",
    "keyed_filter": "keyed function",
    "keyed_process": "keyed function",
    "keyed_values": "keyed function",
    "keyed_reduce": "rolling aggregate",
    "reduce": "rolling aggregate",
    "sum": "rolling aggregate",
    "window": "window",
    "window_all": "window",
    "keyed_co_map": "keyed function of two streams",
    "keyed_co_flat_map": "keyed function of two streams",
    "keyed_co_process": "keyed function of two streams",
    "connect_keyed_process": "keyed function of two streams",
    "broadcast_process": "function with broadcast state",
    "broadcast_connect": "function with broadcast state",
    "keyed_broadcast_process": "keyed function with broadcast state",
    "keyed_broadcast_connect": "keyed function with broadcast state",
    "sink_writer": "sink writer",
    "sink_committer": "sink committer",
}


def family(operator: Operator) -> str:
    """The family of an operator, with regard to its state."""
    return FAMILIES.get(operator.kind, operator.kind)
