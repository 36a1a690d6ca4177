"""Objects of a program's own classes as keys, values and states, all of them pickled."""

import collections
import dataclasses
import datetime
import enum
import fractions
import typing

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, KeySelector
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor

ANY = Types.PICKLED_BYTE_ARRAY()


class Phase(enum.Enum):
    IDLE = "idle"
    BUSY = "busy"
    DONE = "done"


class Place(typing.NamedTuple):
    hall: str
    line: int


@dataclasses.dataclass
class Event:
    place: Place
    number: int
    at: datetime.datetime


@dataclasses.dataclass
class Machine:
    phase: Phase = Phase.IDLE
    since: datetime.datetime | None = None
    last: collections.deque = dataclasses.field(default_factory=lambda: collections.deque(maxlen=3))
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)


class ByPlace(KeySelector):
    def get_key(self, value):
        return value.place


NEXT = {Phase.IDLE: Phase.BUSY, Phase.BUSY: Phase.DONE, Phase.DONE: Phase.IDLE}


class Run(KeyedProcessFunction):
    def open(self, runtime_context):
        self.machine = runtime_context.get_state(ValueStateDescriptor("machine", ANY))
        self.events = runtime_context.get_list_state(ListStateDescriptor("events", ANY))
        self.phases = runtime_context.get_map_state(MapStateDescriptor("phases", ANY, ANY))
        self.share = runtime_context.get_reducing_state(ReducingStateDescriptor("share", lambda a, b: a + b, ANY))

    def process_element(self, value, ctx):
        machine = self.machine.value() or Machine()
        if value.number % 3 == 0:
            machine.phase, machine.since = NEXT[machine.phase], value.at
        machine.last.append(value.number)
        machine.counts[machine.phase.value] += 1
        self.machine.update(machine)
        self.events.add(value)
        if value.number % 11 == 0:
            self.events.update(list(self.events.get())[-1:])
        self.phases.put(machine.phase, self.phases.get(machine.phase) or frozenset() | {value.number % 4})
        self.share.add(fractions.Fraction(1, value.number))
        phases = sorted((phase.name, sorted(found)) for phase, found in self.phases.items())
        numbers = [event.number for event in self.events.get()]
        yield f"{ctx.get_current_key()} {machine.phase} {machine.since} {list(machine.last)} {dict(machine.counts)} {numbers} {phases} {self.share.get()}"


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    start = datetime.datetime(2024, 2, 28, 23)
    events = numbers.map(lambda n: Event(Place("AB"[slowly(n) % 2], n % 3), n, start + datetime.timedelta(minutes=n)))
    return events.uid("events").key_by(ByPlace()).process(Run(), Types.STRING()).uid("run")
