"""Telling how a job runs: lines on stderr for people, a moving line on a terminal, or JSON on stdout for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from compat.compiler.spark.operators.metrics import RECORDS_IN
from compat.report.metrics import metric_text

Event = dict[str, Any]
_REFRESH = 0.2


class Narrator:
    """Tells what happens to jobs. ``as_json`` prints an object a line on stdout, in the place of what the program prints."""

    def __init__(self, *, as_json: bool = False, on_started: Callable[[Event], None] | None = None) -> None:
        self._json = as_json
        self._on_started = on_started
        self._live = sys.stderr.isatty() and not as_json
        self._moving = False
        self._shown = 0.0
        self._rate = 0.0
        self.savepoint: str | None = None
        self.ended: set[str] = set()

    def tell(self, event: Event) -> None:
        """An event of a job."""
        kind, job = event["event"], event["job_id"]
        if kind in ("savepoint", "stopped") and event.get("path"):
            self.savepoint = event["path"]
        if self._json:
            self._out(json.dumps(event, ensure_ascii=False))
        match kind:
            case "started":
                from_there = f", from checkpoint {event['checkpoint']}" if event["checkpoint"] else ""
                self.say(f"Job {job} started ({event['name']}){from_there}")
                if self._on_started is not None:
                    self._on_started(event)
            case "checkpoint":
                self._progress(event)
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
        """A failure: all of it, and a last line that says which job failed and of what. JSON was told by the job itself."""
        if detail and detail != message:
            self.say(detail)
        self.say(f"Job {job} failed: {message}" if job is not None else f"Refused: {message}")
        if job is None and self._json:
            self._out(json.dumps({"event": "failed", "job_id": None, "error": detail or message}, ensure_ascii=False))

    def program_failed(self, message: str, detail: str) -> None:
        """The program failed by itself, and none of its jobs did."""
        if detail and detail != message:
            self.say(detail)
        self.say(f"The program failed: {message}")
        if self._json:
            self._out(json.dumps({"event": "failed", "job_id": None, "error": detail or message}, ensure_ascii=False))

    def printed(self, line: str) -> None:
        """A line that the program prints."""
        if not self._json:
            self._clear()
            self._out(line)

    def say(self, text: str) -> None:
        """A line for people."""
        self._clear()
        print(text, file=sys.stderr, flush=True)

    def _measured(self, operators: list[Event]) -> None:
        """The metrics of operators, a line each, without the numbers of records."""
        for operator in operators:
            metrics = {name: value for name, value in operator["metrics"].items() if name != RECORDS_IN}
            if metrics:
                told = ", ".join(f"{name} {metric_text(value)}" for name, value in metrics.items())
                self.say(f"{operator['name']}: {told}")

    @staticmethod
    def _out(text: str) -> None:
        print(text, flush=True)

    def _progress(self, event: Event) -> None:
        now = time.monotonic()
        rate = event["records"] / max(event["seconds"], 1e-3)
        self._rate = rate if not self._rate else 0.7 * self._rate + 0.3 * rate
        if not self._live or now < self._shown + _REFRESH:
            return
        self._shown = now
        lag = event["watermark_lag"]
        parts = [
            f"epoch {event['epoch']}",
            f"{event['records']:,} records in {event['seconds']:.2f} s",
            f"{self._rate:,.0f}/s",
            "no watermark" if lag is None else f"watermark {lag / 1000:,.1f} s behind",
            f"state {_size(event['state_bytes'])}",
        ]
        sys.stderr.write("\r\x1b[2K" + "  ".join(parts))
        sys.stderr.flush()
        self._moving = True

    def _clear(self) -> None:
        if self._moving:
            sys.stderr.write("\r\x1b[2K")
            self._moving = False


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
