"""What a job's events tell of its past."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.cluster import events
from compat.cluster.events import EventLog
from compat.cluster.history import CHARTED, LONGEST_ERROR, LONGEST_PRINTED, MOST, MOST_PRINTED, History, HistoryReader
from tests.compat.cluster.served import checkpoint


def test_a_job_without_events_has_no_past(tmp_path: Path) -> None:
    assert HistoryReader(EventLog(tmp_path)).read() == History()


def test_the_past_is_read_on_and_the_newest_is_first(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    reader = HistoryReader(log)
    log.add({"event": "started", "job_id": "1", "checkpoint": 0, "resumed": False, "restored": None})
    log.add(checkpoint(1))
    assert [each.epoch for each in reader.read().checkpoints] == [1]
    log.add({"event": "printed", "line": '{"event": "checkpoint", "epoch": 9}'})
    log.add(checkpoint(2, watermark=None, watermark_lag=None, added_bytes=7))
    log.add({"event": "restarting", "delay": 1.0, "error": "half \ud800", "task": None, "attempt": 2})
    log.add({"event": "savepoint", "path": "/s"})
    found = reader.read()
    assert [each.epoch for each in found.checkpoints] == [2, 1]
    assert (found.checkpoints[0].added_bytes, found.checkpoints[0].watermark_lag) == (7, None)
    assert [(each.error, each.delay, each.task) for each in found.restarts] == [("half \ud800", 1.0, None)]
    assert [each.path for each in found.savepoints] == ["/s"]
    assert [(each.checkpoint, each.resumed) for each in found.starts] == [(0, False)]
    assert found.checkpoints[1].at <= found.restarts[0].at


def test_only_the_last_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    for number in range(CHARTED + 5):
        log.add(checkpoint(number))
    for number in range(MOST + 5):
        log.add({"event": "restarting", "error": str(number)})
    found = HistoryReader(log).read()
    assert (len(found.checkpoints), found.committed, found.checkpoints[0].epoch) == (CHARTED, CHARTED + 5, CHARTED + 4)
    assert (len(found.restarts), found.restarted, found.restarts[0].error) == (MOST, MOST + 5, str(MOST + 4))


def test_what_another_version_wrote_is_passed_over(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.add({"event": "checkpoint", "epoch": "first"})
    log.add({"event": "savepoint"})
    with (tmp_path / "events.0").open("ab") as file:
        file.write(b'{"event": "checkpoint", "epo\n')
    log.add(checkpoint(3))
    assert [each.epoch for each in HistoryReader(log).read().checkpoints] == [3]


def test_of_what_is_printed_the_last_lines_are_kept_and_long_ones_are_cut(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    for number in range(MOST_PRINTED + 1):
        log.add({"event": "printed", "line": str(number)})
    log.add({"event": "printed", "line": "x" * 10_000})
    found = HistoryReader(log).read().printed
    assert (len(found), found[1], found[-1]) == (MOST_PRINTED, str(MOST_PRINTED), "2")
    assert found[0] == "x" * LONGEST_PRINTED + "… (10000 characters)"


def test_of_a_long_traceback_the_end_is_kept(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.add({"event": "restarting", "error": "x" * 3_000_000 + "KeyError"})
    (restart,) = HistoryReader(log).read().restarts
    assert (len(restart.error), restart.error[-9:]) == (LONGEST_ERROR, "xKeyError")


def test_it_goes_on_behind_a_file_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LARGEST", 500)
    log = EventLog(tmp_path)
    reader = HistoryReader(log)
    for number in range(1, 51):
        log.add(checkpoint(number))
        if number == 2:
            reader.read()
    epochs = [each.epoch for each in reader.read().checkpoints]
    assert epochs[0] == 50
    assert epochs[-2:] == [2, 1]
    assert epochs == sorted(epochs, reverse=True)
