"""The events of a job, read on from where one was."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from compat.cluster import events
from compat.cluster.events import Cursor, EventLog, kind_of


def test_events_are_read_on_from_a_cursor(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    assert log.read(Cursor()) == ([], Cursor())
    log.add({"event": "started", "name": "Zähler \ud800"})
    found, cursor = log.read(Cursor())
    assert [event["event"] for event in found] == ["started"]
    assert log.read(cursor) == ([], cursor)
    log.add({"event": "finished"})
    (finished,), _ = log.read(Cursor.parse(str(cursor)))
    assert finished["event"] == "finished"
    assert 0 <= time.time() * 1000 - finished["at"] < 60_000


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"event": "checkpoint", "epoch": 1}, "checkpoint"),
        ({"event": "printed", "line": '{"event": "checkpoint"'}, "printed"),
        ({"line": "1", "event": "printed"}, ""),
    ],
)
def test_a_line_tells_what_happened_before_it_is_parsed(tmp_path: Path, event: events.Event, kind: str) -> None:
    log = EventLog(tmp_path)
    log.add(event)
    (line,), _ = log.lines(Cursor())
    assert kind_of(line) == kind


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.add({"event": "started"})
    file = tmp_path / "events.0"
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"event": "fin')
    found, cursor = log.read(Cursor())
    assert (len(found), cursor) == (1, Cursor(0, len(whole)))


def test_an_event_larger_than_a_portion_holds_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PORTION", 50)
    log = EventLog(tmp_path)
    log.add({"event": "printed", "line": "x" * 1000})
    log.add({"event": "finished"})
    found, cursor = log.read(Cursor())
    assert [event["event"] for event in found] == ["printed"]
    with (tmp_path / "events.0").open("ab") as file:
        file.write(b'{"event": "printed", "line": "' + b"y" * 1000)
    found, cursor = log.read(cursor)
    assert [event["event"] for event in found] == ["finished"]
    assert log.read(cursor) == ([], cursor)


def test_large_files_are_followed_by_others_and_old_ones_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LARGEST", 100)
    log, read, cursor = EventLog(tmp_path), [], Cursor()
    for number in range(100):
        log.add({"event": "printed", "line": number})
        found, cursor = log.read(cursor)
        read += [event["line"] for event in found]
    while found:
        found, cursor = log.read(cursor)
        read += [event["line"] for event in found]
    assert read == list(range(100))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("text", ["", "1", "a.b", "-1.0", "1.-1", "1." + "9" * 100])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no place among events"):
        Cursor.parse(text)
