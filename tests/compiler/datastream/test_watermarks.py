"""Watermark strategies, amounts of time."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.constants import MIN_LONG_VALUE
from compat.compiler.datastream.common.time import Duration, Instant, Time
from compat.compiler.datastream.common.watermark_strategy import NoWatermarks, TimestampAssigner, WatermarkStrategy


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


def watermarks(strategy: WatermarkStrategy, *timestamps: int) -> list[int | None]:
    generator = strategy.create_watermark_generator()
    found = [generator.on_periodic_emit()]
    for timestamp in timestamps:
        generator.on_event(None, timestamp)
        found.append(generator.on_periodic_emit())
    return found


def test_watermarks_follow_the_largest_timestamp() -> None:
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    assert watermarks(monotonous, 5, 3, 9) == [MIN_LONG_VALUE, 4, 4, 8]
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    assert watermarks(bounded, 50, 45) == [MIN_LONG_VALUE, 39, 39]
    assert watermarks(WatermarkStrategy.no_watermarks(), 5) == [None, None]
    assert watermarks(WatermarkStrategy.for_generator(NoWatermarks), 5) == [None, None]


@given(st.lists(st.integers(0, 10**6)), st.integers(0, 1000))
def test_watermarks_never_go_back(timestamps: list[int], delay: int) -> None:
    found = watermarks(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay)), *timestamps)
    assert found == sorted(found)


def test_the_assigner_belongs_to_the_strategy_itself() -> None:
    assigner = Assigner()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert strategy.with_timestamp_assigner(assigner) is strategy
    assert strategy.timestamp_assigner is assigner


def test_idleness_and_alignment_drop_the_assigner_as_in_pyflink() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Assigner())
    idle = strategy.with_idleness(Duration.of_seconds(1)).with_watermark_alignment("g", Duration.of_seconds(2))
    assert idle.timestamp_assigner is None
    assert idle.idle_timeout == Duration.of_seconds(1)
    assert idle.alignment == ("g", Duration.of_seconds(2), Duration.of_seconds(1))
    assert idle.kind == "monotonous"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(5), TypeError),
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-5)), ValueError),
        (lambda: WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(0)), ValueError),
    ],
)
def test_refusals(make, error) -> None:
    with pytest.raises(error):
        make()


def test_amounts_of_time() -> None:
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440) == Duration.of_seconds(86_400)
    assert Duration.of_millis(1) == Duration.of_nanos(1_000_000)
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert str(Time.seconds(1)) == "1000 ms"
    assert len({Time.seconds(1), Time.milliseconds(1000), Duration.of_seconds(1)}) == 2
    for value in (Duration.of_seconds(3), Time.seconds(3), Instant(1, 2)):
        assert pickle.loads(pickle.dumps(value)) == value
        with pytest.raises(AttributeError, match="does not change"):
            value.x = 1


@given(st.integers(-(10**14), 10**14))
def test_instants_hold_milliseconds(milli: int) -> None:
    instant = Instant.of_epoch_milli(milli)
    assert instant.to_epoch_milli() == milli
    assert 0 <= instant.nanos < 10**9
