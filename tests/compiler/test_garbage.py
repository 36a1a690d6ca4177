import gc

import pytest

from compiler.garbage import collection_paused


@pytest.fixture(autouse=True)
def _restored():
    enabled = gc.isenabled()
    yield
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
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            failing()
        assert gc.isenabled()
