"""State descriptors and time to live."""

import pytest

from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from compat.state.time import Duration, Time
from compat.state.types import Types


class Average:
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def add(left: int, right: int) -> int:
    return left + right


CASES = [
    (ValueStateDescriptor("s", Types.LONG()), "VALUE", "Long"),
    (ValueStateDescriptor("s", None), "VALUE", "PickledByteArrayTypeInfo"),
    (ListStateDescriptor("s", Types.STRING()), "LIST", "List<String>"),
    (MapStateDescriptor("s", Types.STRING(), Types.INT()), "MAP", "Map<String, Integer>"),
    (ReducingStateDescriptor("s", add, Types.LONG()), "REDUCING", "Long"),
    (AggregatingStateDescriptor("s", Average(), Types.TUPLE([Types.LONG()])), "AGGREGATING", "Java Tuple1<Long>"),
]


@pytest.mark.parametrize(("descriptor", "kind", "type_info"), CASES)
def test_a_descriptor_says_name_kind_and_type(descriptor: StateDescriptor, kind: str, type_info: str) -> None:
    assert (descriptor.get_name(), descriptor.kind, str(descriptor.type_info)) == ("s", kind, type_info)
    assert descriptor.to_json() == {"name": "s", "kind": kind, "type": descriptor.type_info.to_json()}


def test_a_plain_function_reduces() -> None:
    assert ReducingStateDescriptor("s", add, Types.LONG()).get_reduce_function().reduce(1, 2) == 3


def test_time_to_live_is_part_of_the_descriptor() -> None:
    plain, expiring = ValueStateDescriptor("s", Types.LONG()), ValueStateDescriptor("s", Types.LONG())
    assert plain == expiring
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.minutes(1)).build())
    assert plain != expiring
    assert expiring.to_json()["ttl"] == {
        "ttl": 60_000,
        "update": "OnCreateAndWrite",
        "visibility": "NeverReturnExpired",
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValueStateDescriptor("s", Types.LONG), "did you forget the parentheses"),
        (lambda: ValueStateDescriptor(1, Types.LONG()), "name of a state is a text"),
        (lambda: ReducingStateDescriptor("s", 3, Types.LONG()), "needs a ReduceFunction"),
        (lambda: AggregatingStateDescriptor("s", add, Types.LONG()), "without create_accumulator"),
        (lambda: AggregatingStateDescriptor("s", Average, Types.LONG()), "an instance, not the class"),
    ],
)
def test_what_is_no_descriptor_is_refused(make, message) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_all_settings_of_time_to_live() -> None:
    config = (
        StateTtlConfig.new_builder(Duration.of_hours(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(500, Duration.of_days(1))
        .disable_cleanup_in_background()
        .build()
    )
    cleanup = config.get_cleanup_strategies()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert config.get_ttl() == Duration.of_hours(1)
    assert cleanup.in_full_snapshot()
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.get_incremental_cleanup_strategy().get_cleanup_size() == 10
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy().get_query_time_after_num_entries() == 500


def test_the_defaults_of_the_clean_up() -> None:
    cleanup = StateTtlConfig.new_builder(Time.seconds(1)).build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy().get_cleanup_size() == 5
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy().get_periodic_compaction_time() == Duration.of_days(30)


def test_a_lifetime_is_positive() -> None:
    with pytest.raises(ValueError, match="TTL is expected to be positive"):
        StateTtlConfig.new_builder(Time.seconds(0)).build()
