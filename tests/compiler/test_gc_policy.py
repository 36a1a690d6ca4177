import gc
import weakref

import pytest

from compat.compiler.gc_policy import collect_rarely, collection_paused


@pytest.fixture(autouse=True)
def _restored():
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("before", [True, False])
def test_collection_is_as_it_was_afterwards(before):
    (gc.enable if before else gc.disable)()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is before


def test_an_error_puts_it_back_too():
    gc.enable()

    @collection_paused()
    def failing():
        assert not gc.isenabled()
        raise ValueError("wrong")

    for _ in range(2):
        with pytest.raises(ValueError, match="wrong"):
            failing()
        assert gc.isenabled()


def test_a_worker_searches_less_often_but_still_finds_cycles():
    class Node:
        pass

    before = 700, 10, 10
    gc.set_threshold(*before)  # whatever ran in this process may have raised it already
    collect_rarely()
    assert gc.get_threshold() > before
    gone = []
    for _ in range(2 * gc.get_threshold()[0]):
        node = Node()
        node.itself = node
        weakref.finalize(node, gone.append, 1)
    assert gone
