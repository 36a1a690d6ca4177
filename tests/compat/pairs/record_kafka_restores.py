"""Restore the cases of ``kafka_jobs`` in real Flink against a real Kafka broker, and write down what its topics then hold.

``python -m tests.compat.pairs.record_kafka_restores PYTHON CONNECTOR [NAME…]`` from the repository's root, where PYTHON is the
interpreter of an environment with ``apache-flink``, whose ``pyflink/lib`` has the jar ``flink-sql-connector-kafka`` of the
version CONNECTOR (for 3.4.0-1.20, of which there is none, ``flink-connector-kafka`` and ``kafka-clients``). The records are in
``kafka_restores.json``, by connector and case. The broker and its jars are those of the tests of Kafka on Spark.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

from tests.compat.pairs.kafka_jobs import ALL, SERVERS, TRANSACTION_TIMEOUT, Case, End, Meanwhile

RECORDS = Path(__file__).with_name("kafka_restores.json")
SAVEPOINTS = Path(__file__).parents[2] / "golden" / "kafka_restores"
"""The savepoints of the cases with two of them, for ``compat check``: CONNECTOR/NAME/savepoint-000000-N, by age.

Flink has the beginning of the job's id and a random number in these names.
"""

KEPT = ("pooling-stopped", "pooling-scaled-down-stopped", "sink-scaled-down-stopped")
"""Cases whose savepoint tells more of a writer than those of the others."""

_FLINK = Path(__file__).with_name("kafka_flink.py")
_PATIENCE = 120.0
_STILL = 6.0
"""Seconds without a new record after which NEW is taken to have read what it reads."""
_LONG_STILL = 80.0
"""The same where a topic is missing: Kafka's clients wait for a minute for what they do not find."""
_LATER = 15.0
"""Seconds after which a topic is there again."""
_END_TRANSACTION = 26
"""The number of Kafka's request EndTxn."""
_CLEANING = 20
"""Seconds that Kafka may take to see that a transaction's time is over."""


def digest(case: Case) -> str:
    """The digest that ties a record to these programs."""
    told = [case.old, case.new, case.end.value]
    if case.meanwhile is not Meanwhile.NOTHING:
        told.append(case.meanwhile.value)
    if case.partitions != 1:
        told.append(f"{case.partitions} partitions")
    return sha256("\0".join(told).encode()).hexdigest()[:16]


class Flink:
    """A process with PyFlink that takes orders, and another one after it was killed."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._launch()

    def _launch(self) -> None:
        order, self._orders = os.pipe()
        answers, answer = os.pipe()
        command = [self._python, str(_FLINK), str(order), str(answer)]
        self._process = subprocess.Popen(command, pass_fds=[order, answer], stdout=sys.stderr, start_new_session=True)
        os.close(order)
        os.close(answer)
        self._told = os.fdopen(answers)

    def __call__(self, name: str, *given: Any) -> Any:
        os.write(self._orders, f"{json.dumps([name, *given])}\n".encode())
        line = self._told.readline()
        assert line, f"the process with Flink ended at {name}"
        return json.loads(line)

    def kill(self) -> None:
        """Kill it and its JVM, as a machine that fails does."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self.close()
        self._launch()

    def close(self) -> None:
        """Let it end."""
        os.close(self._orders)
        self._told.close()
        self._process.wait(60)


class Gate(socketserver.ThreadingTCPServer):
    """A proxy before a broker; while ``holding``, it swallows the requests that end transactions."""

    daemon_threads = True
    holding = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.broker = ""

    def before(self, broker: str) -> str:
        """Stand before a broker; gives the address to ask."""
        self.broker = broker
        Thread(target=self.serve_forever, daemon=True).start()
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.StreamRequestHandler):
    server: Gate

    def handle(self) -> None:
        host, port = self.server.broker.split(":")
        with socket.create_connection((host, int(port))) as broker:
            Thread(target=self._answer, args=[broker], daemon=True).start()
            with suppress(OSError):
                while len(size := self.rfile.read(4)) == 4:
                    request = self.rfile.read(int.from_bytes(size, "big"))
                    if not (self.server.holding and int.from_bytes(request[:2], "big") == _END_TRANSACTION):
                        broker.sendall(size + request)

    def _answer(self, broker: socket.socket) -> None:
        with suppress(OSError):
            while data := broker.recv(1 << 16):
                self.connection.sendall(data)
            self.connection.shutdown(socket.SHUT_RDWR)


class Recorder:
    """One case after the other, with one broker and one process with Flink."""

    def __init__(self, flink: Flink, broker: Any, gate: Gate, folder: Path) -> None:
        self._flink, self._broker, self._gate, self._folder = flink, broker, gate, folder

    def record(self, case: Case) -> dict[str, Any]:
        """What happened, without what is seen when the transactions' time is over."""
        for topic in ("orders", "returns", "out"):
            self._broker.topic(1 if topic == "out" else case.partitions, f"{topic}-{case.name}")
        self._put(case, ("orders", "returns"), range(3))
        self._start(case.old, None)
        self._until(lambda: len(self.seen(case)["all"]) == 3 * len(case.read), "OLD copied what was there")
        if case.end is End.STOPPED_LATER:
            self._until(lambda: self._offset(case) == 3, "a checkpoint committed the group's offset")
        path = self._end(case)
        ended = self.seen(case)
        if 'set_group_id("g-' in case.old:
            ended["offset of the group"] = self._offset(case)
        self._meanwhile(case)
        if case.end is End.WENT_BACK:
            self._start(case.new, path)
            self._until(lambda: len(self.seen(case)["all"]) == 5, "NEW copied more")
            self._flink.kill()
        refused = self._flink("start", self._placed(case.old if case.end is End.WENT_BACK else case.new), path)
        if case.meanwhile is Meanwhile.CREATED_LATER:
            time.sleep(_LATER)
            self._create_again(case)
        outcome = refused or self._settle(case)
        now = self.seen(case)
        if not refused:
            self._flink("cancel")
        return {
            "programs": digest(case),
            "OLD was": case.end.value,
            "when OLD had ended": ended,
            "NEW": _shown(outcome),
            "when NEW had read": now,
        }

    def seen(self, case: Case) -> dict[str, Any]:
        """The records in ``out`` for readers of all and of committed data, and whether an open transaction holds these up."""
        topic = f"out-{case.name}"
        found = {name: self._broker.records(topic, isolation) for name, isolation in _VIEWS.items()}
        shown = {name: [one.value().decode() for one in records] for name, records in found.items()}
        return shown | {"open transaction": self._broker.end(topic, "read_committed") < self._broker.end(topic)}

    def keep(self, connector: str, case: Case) -> None:
        """Keep the savepoints of a case that has two, and of those that are ``KEPT``."""
        if case.end is not End.OLDER and case.name not in KEPT:
            return
        kept = SAVEPOINTS / connector / case.name
        shutil.rmtree(kept, ignore_errors=True)
        for number, savepoint in enumerate(sorted((self._folder / case.name).iterdir(), key=_age)):
            shutil.copytree(savepoint, kept / f"savepoint-000000-{number}")

    def _offset(self, case: Case) -> int:
        return int(self._broker.committed(f"g-{case.name}", f"orders-{case.name}"))

    def _meanwhile(self, case: Case) -> None:
        if case.meanwhile is Meanwhile.NOTHING:
            self._put(case, ("orders", "returns"), range(5, 7))
            return
        self._broker.delete(f"returns-{case.name}")
        self._put(case, ("orders",), range(5, 7))
        if case.meanwhile is Meanwhile.CREATED_AGAIN:
            self._create_again(case)

    def _create_again(self, case: Case) -> None:
        self._broker.topic(case.partitions, f"returns-{case.name}")
        self._put(case, ("returns",), range(5, 7))

    def _put(self, case: Case, topics: tuple[str, ...], numbers: range) -> None:
        for topic in topics:
            for number in numbers:
                self._broker.put(f"{topic}-{case.name}", number % case.partitions, [f"{topic} {number}"])

    def _placed(self, program: str) -> str:
        return program.replace(SERVERS, self._broker.servers)

    def _start(self, program: str, savepoint: str | None) -> None:
        refused = self._flink("start", self._placed(program), savepoint)
        assert not refused, refused

    def _end(self, case: Case) -> str:
        folder = str(self._folder / case.name)
        if case.end in (End.STOPPED, End.STOPPED_LATER, End.WENT_BACK):
            return str(self._flink("stop", folder))
        self._gate.holding = case.end is End.KILLED_READY
        path = str(self._flink("savepoint", folder))
        if case.end is not End.KILLED_READY:
            self._put(case, case.read, range(3, 5))
            view = "committed" if case.end is End.OLDER else "all"
            self._until(lambda: len(self.seen(case)[view]) == 5 * len(case.read), "OLD copied more")
        match case.end:
            case End.OLDER:
                self._flink("stop", folder)
            case End.CANCELLED:
                self._flink("cancel")
            case _:
                self._flink.kill()
        self._gate.holding = False
        return path

    def _until(self, happened: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not happened():
            outcome = self._flink("outcome")
            assert outcome is None, f"OLD ended: {outcome}"
            assert time.monotonic() < end, f"not in time: {what}"
            time.sleep(0.3)

    def _settle(self, case: Case) -> list[str] | None:
        start = since = time.monotonic()
        last, outcome = self.seen(case), None
        first = len(last["all"])
        still = _STILL if case.meanwhile is Meanwhile.NOTHING else _LONG_STILL
        while time.monotonic() < since + still or (
            len(last["all"]) == first and time.monotonic() < start + 10 * _STILL
        ):
            time.sleep(1)
            now, outcome = self.seen(case), self._flink("outcome")
            if now != last:
                last, since = now, time.monotonic()
            if outcome is not None:
                break
        return outcome


_VIEWS = {"all": "read_uncommitted", "committed": "read_committed"}


def _age(path: Path) -> float:
    return (path / "_metadata").stat().st_mtime


def _shown(outcome: list[str] | None) -> str | list[str]:
    if outcome is None:
        return "runs"
    return "finished" if outcome == ["finished"] else [text[:300] for text in outcome[-3:]]


def main(python: str, connector: str, names: list[str]) -> None:
    """Record the cases of these names, or those without a record of these programs."""
    from tests.compiler.spark.kafka_broker import KafkaBroker

    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    of_this = known.setdefault(connector, {"flink": None, "cases": {}})
    cases = [case for case in ALL if case.name in names or not (names or _known(of_this["cases"], case))]
    with tempfile.TemporaryDirectory() as temporary:
        gate, flink = Gate(), Flink(python)
        broker = KafkaBroker(Path(temporary), before=gate.before)
        try:
            of_this["flink"] = flink("version")
            recorder = Recorder(flink, broker, gate, Path(temporary, "savepoints"))
            fresh = {}
            for case in cases:
                fresh[case.name] = recorder.record(case)
                recorder.keep(connector, case)
                print(case.name, json.dumps(fresh[case.name], indent=1), file=sys.stderr)
            time.sleep(TRANSACTION_TIMEOUT + _CLEANING)
            for case in cases:
                fresh[case.name]["when their time was over"] = recorder.seen(case)
        finally:
            gate.shutdown()
            broker.close()
            flink.close()
    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    of_this = known.setdefault(connector, {"flink": of_this["flink"], "cases": {}})
    records = of_this["cases"] | fresh
    of_this["cases"] = {case.name: records[case.name] for case in ALL if case.name in records}
    RECORDS.write_text(_text(known), encoding="utf-8")


def _text(known: dict[str, Any]) -> str:
    """All records, a line each."""
    parts = []
    for connector, records in sorted(known.items()):
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in records["cases"].items())
        parts.append(
            f' {json.dumps(connector)}: {{"flink": {json.dumps(records["flink"])}, "cases": {{\n{lines}\n }}}}'
        )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _known(records: dict[str, Any], case: Case) -> bool:
    return case.name in records and bool(records[case.name]["programs"] == digest(case))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
