"""Savepoints of a job with states of several types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream import program
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from compat.state.rows import Row
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

PERSON = Types.ROW_NAMED(["name", "seen"], [Types.STRING(), Types.LIST(Types.LONG())])
RECORDS = [(f"k{n % 3}", n) for n in range(9)]


class Keeps(KeyedProcessFunction):
    """For each key: its sum, a row, a list, a map by parity, a timer and what is pickled."""

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self.person = runtime_context.get_state(ValueStateDescriptor("person", PERSON))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.DOUBLE()))
        self.parity = runtime_context.get_map_state(MapStateDescriptor("parity", Types.BOOLEAN(), Types.STRING()))
        self.loose = runtime_context.get_state(ValueStateDescriptor("loose", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.sum.update((self.sum.value() or 0) + value[1])
        person = self.person.value()
        self.person.update(Row(name=value[0], seen=[*(person.seen if person else []), value[1]]))
        self.items.add(value[1] / 2)
        self.parity.put(value[1] % 2 == 0, str(value[1]))
        self.loose.update({"last": value[1]})
        ctx.timer_service().register_processing_time_timer(9_000_000_000_000 + value[1])
        yield value


def job(env: Any, records: Any) -> Any:
    stream = env.from_collection(records, Types.TUPLE([Types.STRING(), Types.LONG()]))
    return stream.key_by(lambda pair: pair[0], Types.STRING()).process(Keeps()).uid("keeps").name("Keeps all")


@pytest.fixture
def savepoint(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A savepoint of the job after so many epochs of three records."""
    made = iter(range(100))

    def write(epochs: int = 2, records: Any = RECORDS, parallelism: int = 2) -> str:
        cluster = Cluster(tmp_path / f"cluster{next(made)}")
        list(job(cluster.environment(parallelism, epochs=epochs, epoch_records=3), records).execute_and_collect())
        path = cluster.last.master.job.savepoint
        assert path is not None
        return str(path)

    yield write
    program.start(program.Program())
