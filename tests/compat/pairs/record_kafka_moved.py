"""Restore sources whose positions a recipe moved, in real Flink against a real Kafka broker, and write down what they read.

``python -m tests.compat.pairs.record_kafka_moved PYTHON CONNECTOR`` from the repository's root, as `record_kafka_restores`. OLD
copies ``orders``, of two partitions, and is stopped with a savepoint; ``purchases`` has the same records and more, and its
partitions have changed places. NEW copies ``purchases`` from the savepoint that the recipe makes. The records are in
``kafka_moved.json``, by connector and recipe.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from compat.cli import main as compat
from tests.compat.pairs.kafka_jobs import ALL, SERVERS
from tests.compat.pairs.record_kafka_restores import Flink, Gate

RECORDS = Path(__file__).with_name("kafka_moved.json")
RECIPES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "topic": {"topics": {"orders": "purchases"}},
    "partitions": {"partitions": {"orders-0": "purchases-1", "orders-1": "purchases-0"}},
    "again from the first": {
        "partitions": {"orders-0": "purchases-1", "orders-1": "purchases-0"},
        "offsets": {"orders-0": 0},
    },
    "from the end": {"topics": {"orders": "purchases"}, "offsets": {"orders-0": "latest", "orders-1": "latest"}},
}
"""What becomes of the positions: the fields of ``move-offsets``; nothing at all is what happens without."""

_PROGRAM = next(case.new for case in ALL if case.name == "none-stopped")
READ, ALL_OF_ONE = (3, 2), 5
"""The records that OLD has read of each partition, and those that each is of in the end, which are called PARTITION:NUMBER."""

_PATIENCE, _STILL = 120.0, 8.0


def program(topic: str, out: str) -> str:
    """A job that copies a topic."""
    return _PROGRAM.replace("orders-none-stopped", topic).replace("out-none-stopped", out)


class Recorder:
    """One recipe after the other, with one broker and one process with Flink."""

    def __init__(self, flink: Flink, broker: Any, folder: Path) -> None:
        self._flink, self._broker, self._folder = flink, broker, folder

    def record(self, name: str) -> dict[str, Any]:
        """What NEW read after the savepoint was moved by a recipe, in order of their text."""
        orders, purchases, out = (f"{topic}-{list(RECIPES).index(name)}" for topic in ("orders", "purchases", "out"))
        for topic, partitions in ((orders, 2), (purchases, 2), (out, 1)):
            self._broker.topic(partitions, topic)
        for number in (0, 1):
            self._broker.put(orders, number, [f"{number}:{place}" for place in range(READ[number])])
        self._start(program(orders, out), None)
        self._until(lambda: len(self._seen(out)) == sum(READ))
        savepoint = str(self._flink("stop", str(self._folder / orders)))
        for number in (0, 1):
            self._broker.put(purchases, 1 - number, [f"{number}:{place}" for place in range(ALL_OF_ONE)])
        new = program(purchases, out)
        moved = self._moved(savepoint, new, RECIPES[name], orders, purchases)
        before = len(self._seen(out))
        self._start(new, moved)
        self._still(out)
        outcome = self._flink("outcome")
        self._flink("cancel")
        return {"read": sorted(self._seen(out)[before:]), "outcome": outcome or "runs"}

    def _moved(self, savepoint: str, new: str, step: dict[str, Any], orders: str, purchases: str) -> str:
        if not step:
            return savepoint
        named = json.loads(json.dumps(step).replace("orders", orders).replace("purchases", purchases))
        recipe, job, out = (self._folder / f"{orders}{suffix}" for suffix in (".yaml", ".py", "-moved"))
        recipe.write_text(json.dumps({"steps": [{"step": "move-offsets", "operator": "orders", **named}]}))
        job.write_text(new)
        command = ["migrate", savepoint, str(job), str(out), "--recipe", str(recipe), "--allow-unknown"]
        done = CliRunner().invoke(compat, command)
        assert done.exit_code == 0, done.output
        return str(out)

    def _seen(self, topic: str) -> list[str]:
        return [one.value().decode() for one in self._broker.records(topic, "read_uncommitted")]

    def _start(self, text: str, savepoint: str | None) -> None:
        refused = self._flink("start", text.replace(SERVERS, self._broker.servers), savepoint)
        assert not refused, refused

    def _until(self, happened: Any) -> None:
        end = time.monotonic() + _PATIENCE
        while not happened():
            assert self._flink("outcome") is None, "OLD ended"
            assert time.monotonic() < end, "not in time"
            time.sleep(0.3)

    def _still(self, topic: str) -> None:
        seen, since = -1, time.monotonic()
        while time.monotonic() < since + _STILL:
            now = len(self._seen(topic))
            seen, since = (now, time.monotonic()) if now != seen else (seen, since)
            time.sleep(0.5)


def main(python: str, connector: str, names: Sequence[str] = ()) -> None:
    """Record all recipes, or those of these names."""
    from tests.compiler.spark.kafka_broker import KafkaBroker

    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        gate, flink = Gate(), Flink(python)
        broker = KafkaBroker(Path(temporary), before=gate.before)
        try:
            of_this = known.setdefault(connector, {"flink": flink("version"), "recipes": {}})
            recorder = Recorder(flink, broker, Path(temporary))
            for name in names or RECIPES:
                of_this["recipes"][name] = recorder.record(name)
                print(name, json.dumps(of_this["recipes"][name]), file=sys.stderr)
        finally:
            gate.shutdown()
            broker.close()
            flink.close()
    RECORDS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
