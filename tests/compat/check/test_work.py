"""The work of a check is linear in the size of the graph."""

from compat.check.decision import check
from compat.plan.decode import decode
from tests.compat.service.running import plan
from tests.counting import calls_of


def test_a_chain_that_begins_with_another_operator():
    def calls(operators):
        names = [f"operator {number}" for number in range(operators)]
        old, new = (decode(plan(*before, *names), name="job", kind="plan") for before in ([], ["first"]))
        return calls_of(lambda: check(old, new))

    assert calls(400) < 4.4 * calls(100)
