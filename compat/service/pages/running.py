"""A running job on Spark, from its state table: epochs, throughput, watermark lag, state growth. No JVM is needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compat.service.pages.charts import LineChart, line_chart, round_time
from compat.service.pages.rendering import count, duration, size
from compat.state.stores.schemes import is_remote

if TYPE_CHECKING:
    from compat.state.delta.history import Epoch

WATERMARK = "watermark"
"""The name under which a job on Spark keeps an operator's watermark; the module that has it would import all of Spark."""

SHOWN = 1000
"""The number of epochs in the charts, the last ones."""
LISTED = 50


class History(Struct, frozen=True):
    """Charts of a job's epochs and the last of them; ``problem`` says why there is nothing to show.

    ``timed`` is True if it is known how long epochs took.
    """

    charts: tuple[LineChart, ...] = ()
    epochs: tuple[Row, ...] = ()
    total: int = 0
    problem: str | None = None
    timed: bool = False


class Row(Struct, frozen=True):
    """An epoch in words."""

    number: int
    time: float
    records: str
    rate: str
    lag: str
    took: str
    written: str
    size: str


def look_into(path: str, is_job: bool) -> tuple[History | None, list[dict[str, Any]]]:
    """The epochs of a job, and the operators of a job or a savepoint with their states as ``compat inspect`` measures them.

    Called in a worker process, with the directory. Nothing outside of it is opened.
    """
    try:
        from compat.compiler.spark.driver.inspection import describe_snapshot
        from compat.state.delta.errors import StoreError
        from compat.state.delta.history import epochs
        from compat.state.delta.log import SnapshotLog
    except ModuleNotFoundError as error:
        return History(problem=f"{error.name} is not installed: pip install 'stream-compat[spark]'"), []
    table = os.path.join(path, "state") if is_job else path
    if not is_remote(path) and os.path.realpath(table) != table:
        return History(problem="The state table lies behind a symbolic link; it is not followed."), []
    try:
        log = SnapshotLog.open(table)
        stray = next((file.path for file in log.files() if not _is_below(table, file.path)), None)
        if stray is not None:
            return History(problem=f"The state table names a file outside of it: {stray}"), []
        found = describe(epochs(log, WATERMARK)) if is_job else None
        return found, [] if "@" in path else describe_snapshot(path)["operators"]  # an @ would name a checkpoint
    except (StoreError, OSError, ValueError, KeyError) as error:
        return History(problem=f"The state table cannot be read: {error}"), []


def _is_below(table: str, name: str) -> bool:
    path = os.path.join(table, name)
    if is_remote(table):
        return path.startswith(f"{table}/") and ".." not in name.split("/")
    return path.startswith(table + os.sep) and os.path.realpath(path) == path


def describe(found: Sequence[Epoch], listed: int = LISTED) -> History:
    """Epochs, the oldest first, as charts and rows; the last so many are listed."""
    shown = found[-SHOWN:]
    rates = {epoch.number: rate for before, epoch in pairwise(found) if (rate := _rate(before, epoch)) is not None}
    lags = {epoch.number: _lag(epoch) for epoch in found if epoch.watermark is not None}
    charts = (
        line_chart(
            "Records per second", [(e.number, rates[e.number]) for e in shown if e.number in rates], count, _epoch
        ),
        line_chart(
            "Watermark lag",
            [(e.number, lags[e.number]) for e in shown if e.number in lags],
            duration,
            _epoch,
            rounded=round_time,
        ),
        line_chart(
            "Duration of an epoch",
            [(e.number, e.seconds) for e in shown if e.seconds is not None],
            _seconds,
            _epoch,
            rounded=round_time,
        ),
        line_chart("State on disk", [(e.number, e.size) for e in shown], size, _epoch),
        line_chart(
            "Time between epochs",
            [(b.number, (b.time - a.time) / 1000) for a, b in pairwise(shown)],
            _seconds,
            _epoch,
            rounded=round_time,
        ),
    )
    rows = tuple(
        Row(
            number=epoch.number,
            time=epoch.time / 1000,
            records="–" if epoch.records is None else count(epoch.records),
            rate=count(rates[epoch.number]) if epoch.number in rates else "–",
            lag=duration(lags[epoch.number]) if epoch.number in lags else "–",
            took="–" if epoch.seconds is None else _seconds(epoch.seconds),
            written=size(epoch.written),
            size=size(epoch.size),
        )
        for epoch in reversed(found[-listed:])
    )
    timed = any(epoch.seconds is not None for epoch in found)
    return History(tuple(chart for chart in charts if chart is not None), rows, len(found), timed=timed)


def _rate(before: Epoch, epoch: Epoch) -> float | None:
    """Records a second, over the time since the epoch before."""
    if epoch.records is None or epoch.time <= before.time:
        return None
    return epoch.records * 1000 / (epoch.time - before.time)


def _lag(epoch: Epoch) -> float:
    assert epoch.watermark is not None
    return max(0.0, (epoch.time - epoch.watermark) / 1000)


def _epoch(number: float) -> str:
    return f"epoch {number:.0f}"


def _seconds(value: float) -> str:
    return duration(value) if value >= 10 else f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"
