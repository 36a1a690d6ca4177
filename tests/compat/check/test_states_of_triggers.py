"""Which states of a window operator a trigger keeps."""

import pytest

from compat.check.triggers import may_be_a_triggers
from compat.state.model.states import State, StateKind, StateScope


@pytest.mark.parametrize(
    ("kind", "namespace", "in_python", "may_be"),
    [
        (StateKind.REDUCING, "TimeWindow", False, True),
        (StateKind.VALUE, "GlobalWindow", False, True),
        (StateKind.VALUE, None, False, False),
        (StateKind.LIST, "TimeWindow", False, False),
        (StateKind.LIST, "TimeWindow", True, True),
        (StateKind.LIST, None, True, False),
    ],
)
def test_a_functions_state_of_the_same_name_is_none(kind, namespace, in_python, may_be):
    state = State(name="count", kind=kind, scope=StateScope.KEYED, namespace_type=namespace)
    assert may_be_a_triggers(state, in_python=in_python) is may_be
