"""Reports how a job runs: lines on stderr for people, a moving line on a terminal, or JSON on stdout for machines."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from compat.compiler.spark.operators.metrics import RECORD_COUNTS
from compat.report.metrics import metric_text

Event = dict[str, Any]
_REFRESH = 0.2
"""Seconds between two looks of the moving line."""

_QUIET = 30.0
"""Seconds between two lines about progress where there is no terminal."""


class Narrator:
    """Reports the events of jobs. ``as_json`` prints an object a line on stdout, in place of the program's output."""

    def __init__(self, *, as_json: bool = False, on_started: Callable[[Event], None] | None = None) -> None:
        self._json = as_json
        self._on_started = on_started
        self._live = sys.stderr.isatty() and not as_json
        self._moving = False
        self._progress = Progress()
        self._shown = time.monotonic()
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self.savepoint: str | None = None
        self.ended: set[str] = set()

    def tell(self, event: Event) -> None:
        """Report an event of a job."""
        kind, job = event["event"], event["job_id"]
        if kind in ("savepoint", "stopped") and event.get("path"):
            self.savepoint = event["path"]
        if self._json:
            self._out(json.dumps(event, ensure_ascii=False))
        match kind:
            case "started":
                self.say(_started(event))
                self._begin()
                if self._on_started is not None:
                    self._on_started(event)
            case "checkpoint":
                self._progressed(event)
            case "restarting":
                self.say(f"Job {job} restarts in {event['delay']:g} s: {last_line(event['error'])}")
            case "note":
                self.say(event["text"])
            case "savepoint":
                self.say(f"Job {job} wrote the savepoint {event['path']}")
            case "finished":
                self._measured(event["metrics"])
                self._local_state(event.get("replicas", {}))
                self.say(f"Job {job} finished: {event['records']:,} records")
                self.ended.add(job)
            case "stopped":
                self._measured(event["metrics"])
                self._local_state(event.get("replicas", {}))
                self.say(f"Job {job} {'was cancelled' if event['path'] is None else 'stopped with a savepoint'}")
                self.ended.add(job)

    def _local_state(self, found: dict[str, int]) -> None:
        """How subtasks found their local state, where they did not find it as they left it."""
        behind, rebuilt = found.get("behind", 0), found.get("rebuilt", 0)
        if behind or rebuilt:
            current = found.get("current", 0)
            self.say(
                f"Local state was current {current:,} times, caught up {behind:,} times, made anew {rebuilt:,} times"
            )

    def failed(self, job: str | None, message: str, *, detail: str = "") -> None:
        """Report a failure as a whole, and in a last line the job and its error. The job itself reported it as JSON."""
        if detail and detail != message:
            self.say(detail)
        self.say(f"Job {job} failed: {message}" if job is not None else f"Refused: {message}")
        if job is None and self._json:
            self._out(json.dumps({"event": "failed", "job_id": None, "error": detail or message}, ensure_ascii=False))

    def program_failed(self, message: str, detail: str) -> None:
        """Report that the program failed by itself, and none of its jobs did."""
        if detail and detail != message:
            self.say(detail)
        self.say(f"The program failed: {message}")
        if self._json:
            self._out(json.dumps({"event": "failed", "job_id": None, "error": detail or message}, ensure_ascii=False))

    def printed(self, line: str) -> None:
        """Print a line of the program."""
        if not self._json:
            with self._lock:
                self._clear()
                self._out(line)

    def say(self, text: str) -> None:
        """Print a line for people."""
        with self._lock:
            self._clear()
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Report nothing more, and remove the moving line."""
        self._stopped.set()
        with self._lock:
            self._clear()

    def _measured(self, operators: list[Event]) -> None:
        """The metrics of operators, a line each, without the numbers of records."""
        for operator in operators:
            metrics = {name: value for name, value in operator["metrics"].items() if name not in RECORD_COUNTS}
            if metrics:
                told = ", ".join(f"{name} {metric_text(value)}" for name, value in metrics.items())
                self.say(f"{operator['name']}: {told}")

    @staticmethod
    def _out(text: str) -> None:
        print(text, flush=True)

    def _begin(self) -> None:
        """Have the moving line show the time that goes by, also while an epoch lasts."""
        self._progress = Progress()
        if self._live and not any(each.name == _TICKER for each in threading.enumerate()):
            threading.Thread(target=self._tick, name=_TICKER, daemon=True).start()

    def _tick(self) -> None:
        while not self._stopped.wait(1.0):
            with self._lock:
                if self._moving:
                    self._draw()

    def _progressed(self, event: Event) -> None:
        with self._lock:
            self._progress.add(event, time.monotonic())
            now = time.monotonic()
            if now < self._shown + (_REFRESH if self._live else _QUIET):
                return
            self._shown = now
            if self._live:
                self._draw()
            elif not self._json:
                self.say(f"Job {event['job_id']}: {self._progress.text(now)}")

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        sys.stderr.write("\r\x1b[2K" + self._progress.text(time.monotonic())[: width - 1])
        sys.stderr.flush()
        self._moving = True

    def _clear(self) -> None:
        if self._moving:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._moving = False


@dataclass(slots=True)
class Progress:
    """The progress of a job: its last epoch, the records since it started, the rate a second, its watermark and its state."""

    epoch: int = 0
    records: int = 0
    rate: float = 0.0
    watermark: int | None = None
    lag: int | None = None
    state: int = 0
    at: float = 0.0

    def add(self, event: Event, now: float) -> None:
        """Note a new checkpoint."""
        rate = event["records"] / max(event["seconds"], 1e-3)
        self.rate = rate if not self.epoch else 0.7 * self.rate + 0.3 * rate
        self.epoch, self.at, self.state = event["epoch"], now, event["state_bytes"]
        self.records += event["records"]
        self.watermark, self.lag = event["watermark"], event["watermark_lag"]

    def text(self, now: float) -> str:
        """The progress on one line."""
        parts = [f"epoch {self.epoch}", f"{self.records:,} records", f"{self.rate:,.0f}/s"]
        parts += [] if self.watermark is None else [f"watermark {_time(self.watermark)}"]
        parts += [] if self.lag is None else [f"{self.lag / 1000:,.1f} s behind"]
        parts += [f"checkpoint {max(0.0, now - self.at):.1f} s ago", f"state {_size(self.state)}"]
        return "  ".join(parts)


_TICKER = "compat-progress"


def _started(event: Event) -> str:
    """How a job begins: anew, from its last checkpoint, or with the state of a snapshot."""
    job, name, restored = event["job_id"], event["name"], event.get("restored")
    if event.get("resumed") and event["checkpoint"]:
        return f"Job {job} started ({name}), resumed from checkpoint {event['checkpoint']}"
    if restored is None:
        return f"Job {job} started ({name})"
    told = [f"{restored['keys']:,} keys, {restored['entries']:,} entries"]
    told += [f"{restored['migrated']:,} migrated"] if restored["migrated"] else []
    told += [f"{restored['dropped']:,} dropped"] if restored["dropped"] else []
    snapshot = f"checkpoint {event['checkpoint']} of {restored['path']}"
    return f"Job {job} started ({name}), restored from {snapshot}: {', '.join(told)}"


def _time(milliseconds: int) -> str:
    """A watermark as a time, in UTC; as a number where it is none that a calendar has."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def last_line(text: str) -> str:
    """The last line of a text, which in a traceback is the error."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
