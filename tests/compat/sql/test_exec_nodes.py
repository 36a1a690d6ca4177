"""The list of nodes: all that the planner of a version has are on it, and what is not on it is not known."""

import pytest
from msgspec import structs

from compat.check.findings import Level
from compat.check.sql.exec_nodes import NODES, Keeps
from tests.compat.sql import record, record_nodes
from tests.compat.sql.test_scripts import told

RECORDED = record_nodes.read()


@pytest.mark.parametrize("version", RECORDED)
def test_every_node_of_a_planner_is_listed(version):
    assert {kind for kind in RECORDED[version].values() if kind is not None} - NODES.keys() == set()


def test_every_listed_node_is_of_some_planner():
    assert NODES.keys() <= {kind for nodes in RECORDED.values() for kind in nodes.values()}


def test_the_planner_that_is_checked_with_is_recorded(flink):
    assert record_nodes.nodes(record.VERSION) == RECORDED[record.VERSION]


def test_nodes_that_keep_sums_or_rows_have_a_reader_of_their_own():
    default = NODES["calc"].read
    assert [
        kind for kind, kept in NODES.items() if kept.what in (Keeps.SUMS, Keeps.ROWS) and kept.read is default
    ] == []


def test_a_node_of_a_later_flink_is_not_known():
    old, new = (_later(record.read()["same", side]) for side in ("old", "new"))
    (found,) = told(old, new)
    assert (found.rule, found.level) == ("CMP713", Level.UNKNOWN)
    assert found.title == "GroupAggregate[6]: the state of the operators of a group-miracle is unknown"
    assert "CMP713" not in {one.rule for one in told(*(record.read()["same", side] for side in ("old", "new")))}


def _later(plan):
    return structs.replace(plan, operators=tuple(_of_a_later_flink(one) for one in plan.operators))


def _of_a_later_flink(operator):
    node = operator.exec_node and operator.exec_node.replace("group-aggregate_1", "group-miracle_1")
    return structs.replace(operator, exec_node=node)
