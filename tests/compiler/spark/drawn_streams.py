"""Streaming programs that are drawn, as text that PyFlink and compat both run: lateness, triggers, timers, keys, two inputs.

Whatever may differ between two runs of the same Flink is left out. A stream has *marks*: what is true of it in every run.

- ``o``: the records of a key come in the same order;
- ``w``: watermarks come at the same places among the records of a key, so that it is certain what is late;
- ``t``: records have timestamps;
- ``n``: no record comes behind a watermark;
- ``s``: nor so soon before one that it is uncertain whether it finds a session that it touches.

A step is drawn where the stream has the marks that it needs, and takes away those that it does not keep. Results are
compared in their order for each key where the stream has ``o`` at the end, which the program says by ``ORDERED``.

Nor is drawn what PyFlink does otherwise than Flink: sessions that are reduced or aggregated lose records there when two of
them are merged, and so do counts of triggers in process mode; and in process mode keys that Python finds equal are one where
they come one behind the other. Nor what counts the windows of a key that fire, where several do at the same time: in which
order is up to the state backend, and on the heap to the timers of other keys.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

HEAD = '''
import asyncio, datetime, decimal, time
from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AsyncDataStream, AsyncFunction, OutputTag
from pyflink.datastream.functions import *
from pyflink.datastream.state import *
from pyflink.datastream.window import *

MANY = 100003
ms = Time.milliseconds

class Stamped(TimestampAssigner):
    def extract_timestamp(self, value, before):
        return value[1]

def hashed(numbers):
    total = 7
    for number in numbers:
        total = (total * 31 + number) % MANY
    return total

def place(window):
    if getattr(window, "start", 0) > 10**12:
        return -2
    if hasattr(window, "start"):
        return window.start * 1000 + window.end - window.start
    return getattr(window, "id", -1)

def joined(left, right):
    return left[0], max(left[1], right[1]), (left[2] + right[2]) % MANY

class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, place(context.window()), hashed(e[2] for e in elements)

class Sorted(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, place(context.window()), hashed(sorted(e[2] for e in elements))

class Marked(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, place(context.window()), context.current_watermark() % MANY * 7 + len(list(elements))

class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        for size in range(len(list(inputs)) % 3 + 1):
            yield key, place(window) + size, hashed(sorted(e[2] for e in inputs))

class Fired(ProcessWindowFunction):
    def process(self, key, context, elements):
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        all = context.global_state().get_map_state(MapStateDescriptor("all", Types.LONG(), Types.LONG()))
        here.update((here.value() or 0) + 1)
        all.put(here.value(), (all.get(here.value()) or 0) + 1)
        yield key, place(context.window()), hashed([here.value(), *sorted(all.values()), len(list(elements))])

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.LONG())).clear()

class Listed(AggregateFunction):
    def create_accumulator(self):
        return None, []

    def add(self, value, total):
        return value[0], total[1] + [value[2]]

    def get_result(self, total):
        return total[0], len(total[1]), hashed(sorted(total[1]))

    def merge(self, left, right):
        return left[0] if left[1] else right[0], left[1] + right[1]

class AllOf(ProcessAllWindowFunction):
    def process(self, context, elements):
        values = list(elements)
        yield max(values, key=lambda e: e[2])[0], place(context.window()), hashed(e[2] for e in values)

class Each(Trigger):
    """Fires at each record whose number is a multiple, and by a timer that it sets itself behind others."""

    def __init__(self, multiple, delay, purge):
        self.multiple, self.delay, self.purge = multiple, delay, purge
        self.seen = ReducingStateDescriptor("seen", lambda l, r: l + r, Types.LONG())

    def _fire(self):
        return TriggerResult.FIRE_AND_PURGE if self.purge else TriggerResult.FIRE

    def on_element(self, element, timestamp, window, ctx):
        seen = ctx.get_partitioned_state(self.seen)
        seen.add(1)
        if element[2] % self.multiple == 0:
            ctx.delete_event_time_timer(timestamp + self.delay)
            return self._fire()
        if seen.get() % 4 == 3:
            return TriggerResult.PURGE
        ctx.register_event_time_timer(timestamp + self.delay)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return self._fire() if time % 2 else TriggerResult.FIRE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.seen)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.seen).clear()
        ctx.delete_event_time_timer(window.max_timestamp())

class Whole(WindowAssigner):
    """A window that begins at a record's time, cut down, and one that has the length of its number."""

    def assign_windows(self, element, timestamp, context):
        start = timestamp // 30 * 30
        return [TimeWindow(start, start + 30 + element[2] % 3 * 10), TimeWindow(start - 30, start + 30)]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True

class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 5 + element[2] % 4 * 10

class Seen(ProcessFunction):
    def process_element(self, value, ctx):
        mark = ctx.timer_service().current_watermark()
        yield value[0], ctx.timestamp(), (value[2] * 31 + mark) % MANY

class KeyedSeen(KeyedProcessFunction):
    def process_element(self, value, ctx):
        mark = ctx.timer_service().current_watermark()
        yield ctx.get_current_key(), ctx.timestamp(), (value[2] * 31 + mark) % MANY

class Split(FlatMapFunction):
    def flat_map(self, value):
        if value[2] % 5 == 4:
            return []
        return [(value[0], value[1] - n, value[2] * (n + 1)) for n in range(value[2] % 3)]

class Again(KeyedProcessFunction):
    """A timer that sets itself again, some are deleted, some are in the past."""

    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.due = context.get_list_state(ListStateDescriptor("due", Types.LONG()))

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        self.count.update((self.count.value() or 0) + value[2])
        timers.register_event_time_timer(value[1] + 10)
        timers.register_event_time_timer(value[1] + value[2] % 7 - 20)
        timers.register_processing_time_timer(timers.current_processing_time() + 10_000_000)
        self.due.add(value[1] + 10)
        if value[2] % 4 == 0:
            for due in self.due.get():
                timers.delete_event_time_timer(due)
            self.due.clear()
        if value[2] % 3 == 0:
            yield value[0], value[1], timers.current_watermark() % MANY

    def on_timer(self, timestamp, ctx):
        timers = ctx.timer_service()
        count = self.count.value() or 0
        domain = str(ctx.time_domain()).split(".")[-1]
        shown = hashed([count, ctx.timestamp(), len(domain)]) + timers.current_watermark()
        yield ctx.get_current_key(), timestamp, shown % MANY
        if count < 400:
            self.count.update(count + 37)
            timers.register_event_time_timer(timestamp + count % 3 * 15)
            timers.register_event_time_timer(timestamp + 1)
            timers.delete_event_time_timer(timestamp + 1)
        else:
            self.count.clear()

class Quiet(KeyedProcessFunction):
    """A timer once no record of the key has come for a while; none of the clock's is due before the end."""

    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx):
        last = self.last.value()
        if last is not None:
            ctx.timer_service().delete_event_time_timer(last + 25)
        last = max(last or 0, value[1])
        self.last.update(last)
        ctx.timer_service().register_event_time_timer(last + 25)
        ctx.timer_service().register_processing_time_timer(1 << 60)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.last.value()
        self.last.update(None)

class States(KeyedProcessFunction):
    """Every kind of state, empty ones, and what is put away."""

    def open(self, context):
        self.value = context.get_state(ValueStateDescriptor("value", Types.TUPLE([Types.LONG(), Types.STRING()])))
        self.list = context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LONG()))
        self.least = context.get_reducing_state(ReducingStateDescriptor("least", min, Types.LONG()))
        self.all = context.get_aggregating_state(AggregatingStateDescriptor("all", Listed(), Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        number = value[2]
        held = self.value.value() or (0, "")
        seen = [held[0], len(held[1]), *self.list.get(), *sorted(self.map.values()), len(list(self.map.keys()))]
        seen += [self.least.get() or -1, self.map.get("3") or -2, int(self.map.contains("2")), int(self.map.is_empty())]
        whole = self.all.get()
        seen.append(-3 if whole is None else whole[2])
        yield value[0], value[1], hashed(seen)
        self.value.update((number, held[1][-5:] + str(number)))
        self.map.put(str(number % 5), number)
        self.map.put("x", number)
        self.map.put("y", held[0])
        self.least.add(number)
        self.all.add(value)
        self.list.add_all([number, number + 1])
        if number % 3 == 0:
            self.list.update([number])
            self.map.remove(str((number + 1) % 5))
            self.least.clear()
        if number % 5 == 0:
            self.list.update([])
            self.map.clear()
            self.value.clear()
        if number % 7 == 0:
            self.all.clear()

class Kept(KeyedProcessFunction):
    """States that live an hour or a few milliseconds; the latter are gone when they are read."""

    def __init__(self, update, visible):
        self.update, self.visible = update, visible

    def open(self, context):
        def lives(millis):
            update = getattr(StateTtlConfig.UpdateType, self.update)
            visible = getattr(StateTtlConfig.StateVisibility, self.visible)
            return StateTtlConfig.new_builder(ms(millis)).set_update_type(update).set_state_visibility(visible).build()

        def kept(descriptor, millis):
            descriptor.enable_time_to_live(lives(millis))
            return descriptor

        self.states = []
        for name, millis in (("long", 3_600_000), ("short", 20)):
            self.states.append((
                context.get_state(kept(ValueStateDescriptor("v" + name, Types.LONG()), millis)),
                context.get_list_state(kept(ListStateDescriptor("l" + name, Types.LONG()), millis)),
                context.get_map_state(kept(MapStateDescriptor("m" + name, Types.LONG(), Types.LONG()), millis)),
                context.get_reducing_state(kept(ReducingStateDescriptor("r" + name, max, Types.LONG()), millis)),
            ))

    def process_element(self, value, ctx):
        time.sleep(0.05)
        number = value[2]
        seen = []
        for held, list_, map_, most in self.states:
            seen += [held.value() or 0, -1, *(list_.get() or []), -2, most.get() or 0, -3]
            seen += [map_.get(number % 3) or 0, -4, *sorted(map_.values()), int(map_.contains(number % 2))]
            held.update(number)
            list_.add(number)
            most.add(number)
            map_.put(number % 3, number)
        yield value[0], value[1], hashed(seen)

class Sides(ProcessFunction):
    def process_element(self, value, ctx):
        if value[2] % 2:
            yield OutputTag("odd"), (value[0], value[1] + 1, value[2])
        if value[2] % 3 == 0:
            yield OutputTag("third"), (value[0], value[1] + 2, value[2])
            yield OutputTag("third"), (value[0], value[1] + 3, value[2])
        if value[2] % 5:
            yield value

class KeyedSides(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        if self.count.value() % 2:
            yield OutputTag("odd"), (value[0], self.count.value(), -2)
        ctx.timer_service().register_event_time_timer(10**14 + self.count.value())
        yield value

    def on_timer(self, timestamp, ctx):
        yield OutputTag("third"), (ctx.get_current_key(), timestamp, self.count.value())
        yield ctx.get_current_key(), timestamp, -1

class Near(KeyedCoProcessFunction):
    """Pairs of two inputs whose times are near: an interval join."""

    def __init__(self, least, most):
        self.least, self.most = least, most

    def open(self, context):
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.left = context.get_list_state(ListStateDescriptor("left", pair))
        self.right = context.get_map_state(MapStateDescriptor("right", Types.LONG(), Types.LIST(Types.LONG())))

    def process_element1(self, value, ctx):
        self.left.add((ctx.timestamp(), value[2]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + max(self.most, 0))
        return []

    def process_element2(self, value, ctx):
        self.right.put(ctx.timestamp(), [*(self.right.get(ctx.timestamp()) or []), value[2]])

    def on_timer(self, timestamp, ctx):
        for time, number in sorted(self.left.get()):
            if time + max(self.most, 0) == timestamp:
                for other, numbers in self.right.items():
                    if self.least <= other - time <= self.most:
                        for each in numbers:
                            yield ctx.get_current_key(), time * 1000 + other, number * 1000 + each

class EachCounted(CoMapFunction):
    def open(self, context):
        self.seen = [context.get_state(ValueStateDescriptor("seen%d" % n, Types.LONG())) for n in (1, 2)]

    def _next(self, which, value):
        self.seen[which].update((self.seen[which].value() or 0) + 1)
        return value[0], which, self.seen[which].value()

    def map1(self, value):
        return self._next(0, value)

    def map2(self, value):
        return self._next(1, value) if value[2] % 3 else None

class Several(CoFlatMapFunction):
    def flat_map1(self, value):
        for number in range(value[2] % 3):
            yield value[0], number, value[2]

    def flat_map2(self, value):
        return [(value[0], -1, value[2]), (value[0], -2, value[2])] if value[2] % 2 else []

class Ended(KeyedCoProcessFunction):
    """What both inputs had of a key, at the end, and when: keys are those of either."""

    def open(self, context):
        self.sums = context.get_map_state(MapStateDescriptor("sums", Types.INT(), Types.LONG()))

    def _add(self, which, value, ctx):
        self.sums.put(which, (self.sums.get(which) or 0) + value[2])
        ctx.timer_service().register_event_time_timer(10**14)

    def process_element1(self, value, ctx):
        self._add(1, value, ctx)
        return []

    def process_element2(self, value, ctx):
        self._add(2, value, ctx)
        yield value[0], -5, ctx.get_current_key() * 100

    def on_timer(self, timestamp, ctx):
        yield SOME, ctx.get_current_key(), hashed(self.sums.get(n) or 0 for n in (1, 2))

RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
OTHERS = MapStateDescriptor("others", Types.STRING(), Types.LONG())

class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(10**14 + value[2] % 3)

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[2] % 4, (rules.get(value[2] % 4) or 0) + value[2])
        if value[2] % 6 == 0:
            rules.remove(value[2] % 4)
        ctx.get_broadcast_state(OTHERS).put("last", value[2])
        yield value[0], value[1], value[2] + 50000

    def on_timer(self, timestamp, ctx):
        rules = ctx.get_broadcast_state(RULES)
        numbers = [number for pair in sorted(rules.items()) for number in pair]
        last = ctx.get_broadcast_state(OTHERS).get("last") or 0
        yield ctx.get_current_key(), timestamp, hashed([*numbers, last])

class Told(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], value[2] + int(ctx.get_broadcast_state(RULES).contains(12345))

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[2] % 4, (rules.get(value[2] % 4) or 0) + value[2])
        yield value[0], len(list(rules.items())), hashed(sorted(n for _, n in rules.items()))

class Asked(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(value[2] % 4 * 0.002)
        return [(value[0], value[1], value[2] + n) for n in range(value[2] % 3)]

class TooLong(AsyncFunction):
    async def async_invoke(self, value):
        if value[2] % 5 == 0:
            await asyncio.sleep(60)
        return [value]

    def timeout(self, value):
        return [(value[0], -1, value[2]), (value[0], -2, value[2])]
'''
KEYED = "s.key_by(lambda v: v[0], KEY)"


class Keys(NamedTuple):
    """Keys of one type: the type as text, what key_by is told, some of them, whether Python finds some alike that differ."""

    type: str
    told: str
    some: tuple[str, ...]
    alike: bool = False


_DATES = tuple(f"datetime.date(20{year}, 2, 28)" for year in ("01", "24", "99"))
KEYS = {
    "string": Keys("Types.STRING()", "Types.STRING()", ("'a'", "'b'", "''", "'ü€'")),
    "string, untold": Keys("Types.STRING()", "None", ("'a'", "'b'", "'c'")),
    "long": Keys("Types.LONG()", "Types.LONG()", ("0", "-1", "2**40", "7")),
    "int": Keys("Types.INT()", "Types.INT()", ("0", "-5", "2**31-1")),
    "int, untold": Keys("Types.INT()", "None", ("0", "-5", "2**31-1")),
    "short": Keys("Types.SHORT()", "Types.SHORT()", ("0", "-5", "32767")),
    "double": Keys(
        "Types.DOUBLE()", "Types.DOUBLE()", ("0.0", "-0.0", "-2.0", "float('nan')", "float('inf')"), alike=True
    ),
    "float": Keys("Types.FLOAT()", "Types.FLOAT()", ("0.5", "-0.0", "1.0", "0.0"), alike=True),
    "boolean": Keys("Types.BOOLEAN()", "Types.BOOLEAN()", ("True", "False")),
    "tuple": Keys(
        "Types.TUPLE([Types.STRING(), Types.INT()])",
        "Types.TUPLE([Types.STRING(), Types.INT()])",
        ("('a', 1)", "('a', 2)", "('b', 1)"),
    ),
    "row": Keys(
        "Types.ROW_NAMED(['x', 'y'], [Types.STRING(), Types.LONG()])",
        "Types.ROW_NAMED(['x', 'y'], [Types.STRING(), Types.LONG()])",
        ("Row(x='a', y=1)", "Row(x='a', y=2)", "Row(x='b', y=1)"),
    ),
    "date": Keys("Types.SQL_DATE()", "Types.SQL_DATE()", _DATES),
    "decimal": Keys(
        "Types.BIG_DEC()",
        "Types.BIG_DEC()",
        ("decimal.Decimal('1.5')", "decimal.Decimal('2')", "decimal.Decimal('1.50')"),
        alike=True,
    ),
    "pickled": Keys("", "None", ("'a'", "2", "(3, 'c')", "(3.0, 'c')", "None"), alike=True),
    "pickled numbers": Keys(
        "", "None", ("1", "2.5", "1.0", "False", "True", "0", "decimal.Decimal('2.5')"), alike=True
    ),
    "pickled dates": Keys("", "None", _DATES),
}


class Step(NamedTuple):
    """A line of the program, the marks that it needs, and those that it takes away."""

    text: str
    needs: str = ""
    loses: str = ""


_REDUCES = "lambda l, r: (l[0], r[1], (l[2] * 3 + r[2]) % MANY)"
STEPS = {
    "map": Step("s = s.map(lambda v: (v[0], v[1], v[2] * {a} % MANY), EVENT).map(lambda v: v, EVENT)"),
    "filter": Step("s = s.filter(lambda v: v[2] % {c}).flat_map(lambda v: [v, v] if v[2] % 2 else [v], EVENT)"),
    "split": Step("s = s.flat_map(Split(), EVENT)"),
    "seen": Step("s = s.process(Seen(), EVENT)", "owt"),
    "keyed seen": Step(f"s = {KEYED}.process(KeyedSeen(), EVENT)", "owt"),
    "keyed map": Step(f"s = {KEYED}.map(lambda v: (v[0], v[1], v[2] + {{a}}), EVENT)"),
    "keyed flat": Step(f"s = {KEYED}.flat_map(lambda v: [v] * (v[2] % 3), EVENT)"),
    "keyed filter": Step(f"s = {KEYED}.filter(lambda v: v[2] % {{c}})"),
    "reduce": Step(f"s = {KEYED}.reduce({_REDUCES})", "o"),
    "sum": Step(f"s = {KEYED}.sum(2)", "o"),
    "sums": Step(f"s = {KEYED}.sum(1); s = {KEYED}.max(2)", "o"),
    "min by": Step(f"s = {KEYED}.min_by(2)", "o"),
    "max by": Step(f"s = {KEYED}.max_by(1); s = {KEYED}.min(1)", "o"),
    "again": Step(f"s = {KEYED}.process(Again(), EVENT)", "owt"),
    "quiet": Step(f"s = {KEYED}.process(Quiet(), EVENT)", "owt"),
    "states": Step(f"s = {KEYED}.process(States(), EVENT)", "o"),
    "kept": Step(f"s = {KEYED}.process(Kept('{{u}}', '{{v}}'), EVENT)", "o"),
    "counted": Step(f"s = {KEYED}.count_window({{c}}).process(Contents(), EVENT)", "o"),
    "counts slide": Step(f"s = {KEYED}.count_window({{c}}, {{a}}).process(Contents(), EVENT)", "o"),
    "counts reduced": Step(
        f"s = {KEYED}.count_window({{c}}, 2).reduce({_REDUCES}, Contents(), output_type=EVENT)", "o"
    ),
    "asked in order": Step(
        "s = AsyncDataStream.ordered_wait(s, Asked(), Time.seconds(50), {c}, EVENT)",
    ),
    "asked": Step("s = AsyncDataStream.unordered_wait(s, Asked(), Time.seconds(50), {c}, EVENT)", "", "o"),
    "too long": Step("s = AsyncDataStream.ordered_wait(s, TooLong(), Time.milliseconds(1500), 20, EVENT)"),
}
"""The steps that are a line; windows are drawn apart."""
ENDS = {
    "sides": "s = s.process(Sides(), EVENT)\n    s = s.union(s.get_side_output(ODD), s.get_side_output(THIRD))",
    "keyed sides": f"s = {KEYED}.process(KeyedSides(), EVENT)\n"
    "    s = s.get_side_output(THIRD).union(s.get_side_output(ODD).map(lambda v: v, EVENT), s)",
    "near": f"s = {KEYED}.connect(other.key_by(lambda v: v[0], KEY)).process(Near({{l}}, {{m}}), EVENT)",
    "each counted": f"s = {KEYED}.connect(other.key_by(lambda v: v[0], KEY)).map(EachCounted(), EVENT)",
    "several": "s = s.connect(other).flat_map(Several(), EVENT)",
    "several of keys": "s = s.connect(other).key_by(lambda v: v[0], lambda v: v[0], KEY).flat_map(Several(), EVENT)",
    "ended": "s = s.connect(other).key_by(lambda v: v[2] % 3, lambda v: v[1] % 4, Types.LONG()).process(Ended(), EVENT)",
    "ruled": f"s = {KEYED}.connect(other.broadcast(RULES, OTHERS)).process(Ruled(), EVENT)",
    "told": "s = s.connect(other.broadcast(RULES)).process(Told(), EVENT)",
    "cogrouped": "s = s.union(other.rebalance()).key_by(lambda v: v[0], KEY).window(TumblingEventTimeWindows.of(ms({w})))"
    ".process(Sorted(), EVENT)",
    "united": "s = s.union(other.rebalance(), s.map(lambda v: (v[0], v[1], v[2] + 9), EVENT))"
    ".key_by(lambda v: v[2] % 3, Types.LONG()).window(EventTimeSessionWindows.with_gap(ms({w}))).process(Sorted(), PICKLED)"
    ".map(lambda v: (SOME, v[1], v[2]), EVENT)",
}
"""What a stream without late records may end with: two inputs and several outputs, whose results have no order."""
SIMPLE = {"sides", "keyed sides"}
"""Those that have one input: any stream may end with them."""
ASSIGNERS = {
    "tumbling": "TumblingEventTimeWindows.of(ms({w}))",
    "offset": "TumblingEventTimeWindows.of(ms({w}), ms({f}))",
    "sliding": "SlidingEventTimeWindows.of(ms({w}), ms({x}))",
    "sliding offset": "SlidingEventTimeWindows.of(ms({w}), ms({x}), ms({y}))",
    "sparse": "SlidingEventTimeWindows.of(ms({f}), ms({w}))",
    "session": "EventTimeSessionWindows.with_gap(ms({x}))",
    "dynamic": "EventTimeSessionWindows.with_dynamic_gap(Gap())",
    "global": "GlobalWindows.create()",
    "whole": "Whole()",
    "clock": "TumblingProcessingTimeWindows.of(Time.days(300))",
    "clock session": "ProcessingTimeSessionWindows.with_gap(Time.days(3))",
}
MERGING = {"session", "dynamic", "clock session"}
OVERLAPPING = {"sliding", "sliding offset", "whole"}
TIMELESS = {"global", "clock", "clock session"}
TRIGGERS = {
    "default": "",
    "continuous": "ContinuousEventTimeTrigger.of(ms({i}))",
    "count": "CountTrigger.of({c})",
    "purging": "PurgingTrigger.of(EventTimeTrigger.create())",
    "purging count": "PurgingTrigger.of(CountTrigger.of({c}))",
    "purging continuous": "PurgingTrigger.of(ContinuousEventTimeTrigger.of(ms({i})))",
    "nested": "PurgingTrigger.of(PurgingTrigger.of(CountTrigger.of({c})))",
    "each": "Each({c}, {i}, False)",
    "each purges": "Each({c}, {i}, True)",
    "clock": "ProcessingTimeTrigger.create()",
    "continuous clock": "ContinuousProcessingTimeTrigger.of(Time.days(300))",
}
STATELESS = ("default", "purging")
FUNCTIONS = {
    "process": ".process({p}(), EVENT)",
    "apply": ".apply(Applied(), EVENT)",
    "reduce": ".reduce(joined)",
    "reduce and process": ".reduce(joined, {p}(), output_type=EVENT)",
    "aggregate": ".aggregate(Listed(), accumulator_type=PICKLED, output_type=EVENT)",
    "aggregate and process": ".aggregate(Listed(), {p}(), accumulator_type=PICKLED, output_type=EVENT)",
}
LETTERS: dict[str, Callable[[random.Random], Any]] = {
    "a": lambda chance: chance.randint(1, 5),
    "c": lambda chance: chance.randint(2, 5),
    "f": lambda chance: chance.randint(1, 19),
    "i": lambda chance: chance.choice((7, 10, 15)),
    "l": lambda chance: chance.randint(-15, 0),
    "m": lambda chance: chance.randint(0, 20),
    "w": lambda chance: chance.choice((20, 25, 40, 60)),
    "x": lambda chance: chance.choice((8, 10, 13)),
    "y": lambda chance: chance.randint(1, 7),
    "u": lambda chance: chance.choice(("OnCreateAndWrite", "OnReadAndWrite")),
    "v": lambda chance: chance.choice(("NeverReturnExpired", "ReturnExpiredIfNotCleanedUp")),
}
STRATEGIES = {
    "each": ("each_record({delay})", "owt"),
    "some": ("each_record({delay}, 3)", "owt"),
    "each, never late": ("each_record(1000)", "owtns"),
    "idle": ("each_record({delay}).with_idleness(Duration.of_millis(3_600_000))", "owt"),
    "bounded": ("WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500))", "otns"),
    "bounded idle": (
        "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500)).with_idleness(Duration.of_millis(1))",
        "otns",
    ),
    "monotonous": ("WatermarkStrategy.for_monotonous_timestamps()", "otn"),
    "none": ("WatermarkStrategy.no_watermarks()", "otns"),
}


class Drawn:
    """A program while it is drawn."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"streams {seed}")
        self.keys = KEYS[self.chance.choice(list(KEYS))]
        self.parallelism = self.chance.choice((1, 1, 3))
        self.marks: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole program."""
        self._source()
        for _ in range(self.chance.randint(1, 4)):
            self._step()
        if self.chance.random() < 0.4 or (self.chance.random() < 0.5 and "n" in self.marks):
            self._end()
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{HEAD}{self._types()}\ndef build(env):\n{body}\n    return s\n\nORDERED = {'o' in self.marks}\n"

    def _types(self) -> str:
        event = f"Types.TUPLE([{self.keys.type}, Types.LONG(), Types.LONG()])" if self.keys.type else "None"
        return (
            f"KEY = {self.keys.told}\nevent = lambda: {event}\nEVENT = event()\nSOME = {self.keys.some[0]}\n"
            "PICKLED = Types.PICKLED_BYTE_ARRAY()\n"
            'LATE, ODD, THIRD = OutputTag("late", EVENT), OutputTag("odd", EVENT), OutputTag("third", EVENT)\n'
        )

    def _records(self, count: int, ordered: bool) -> str:
        """Events, some of them behind those that came before."""
        now, made = 100, []
        for _ in range(count):
            now += self.chance.choice((0, 1, 3, 5, 12))
            time = now if ordered else now - self.chance.choice((0, 0, 2, 6, 18, 45))
            made.append(f"({self.chance.choice(self.keys.some)}, {time}, {self.chance.randrange(50)})")
        return f"[{', '.join(made)}]"

    def _source(self) -> None:
        name = self.chance.choice(list(STRATEGIES))
        strategy, marks = STRATEGIES[name]
        self.marks = set(marks)
        delay = self.chance.choice((0, 5, 20))
        for stream, count, watermarks in (
            ("s", self.chance.randint(5, 40), strategy.replace("{delay}", str(delay))),
            ("other", self.chance.randint(1, 12), STRATEGIES["bounded"][0]),
        ):
            self.lines.append(f"{stream} = env.from_collection({self._records(count, name == 'monotonous')}, EVENT)")
            self.lines.append(
                f"{stream} = {stream}.assign_timestamps_and_watermarks({watermarks}.with_timestamp_assigner(Stamped()))"
            )
        self.lines.append(f"env.set_parallelism({self.parallelism})")

    def _step(self) -> None:
        if self.chance.random() < 0.45 and "t" in self.marks and not self.marks.isdisjoint("wn"):
            self._window()
            return
        fit = [name for name, step in STEPS.items() if self.marks.issuperset(step.needs)]
        if self.parallelism > 1 and len(self.lines) == 5:
            fit = [name for name in fit if STEPS[name].text.startswith(f"s = {KEYED}")]
        if self.chance.random() < 0.7 or self.keys.alike:
            fit = [name for name in fit if "Async" not in STEPS[name].text]
        name = self.chance.choice(fit)
        self._add(STEPS[name].text, name)
        self.marks -= set(STEPS[name].loses)

    def _add(self, line: str, name: str) -> None:
        self.lines.append(self._filled(line))
        if self.parallelism > 1 and KEYED in line:
            self.marks.discard("w")

    def _filled(self, text: str) -> str:
        for letter, draw in LETTERS.items():
            if "{" + letter + "}" in text:
                text = text.replace("{" + letter + "}", str(draw(self.chance)))
        return text

    def _window(self) -> None:
        sure = self.marks.issuperset("ow")
        assigners = [name for name in ASSIGNERS if sure or name not in TIMELESS]
        if not sure and "s" not in self.marks:
            assigners = [name for name in assigners if name not in MERGING]
        assigner = self.chance.choice(assigners)
        clock = "clock" in assigner
        triggers = [name for name in TRIGGERS if (sure and (clock or "clock" not in name)) or name == "default"]
        if assigner in MERGING and any("Async" in line for line in self.lines):
            triggers = [name for name in triggers if name in STATELESS]
        trigger = self.chance.choice(triggers)
        line = f"s = {KEYED}.window({ASSIGNERS[assigner]})"
        if TRIGGERS[trigger]:
            line += f".trigger({TRIGGERS[trigger]})"
        late = assigner not in TIMELESS and sure and self.chance.random() < 0.6
        if late:
            line += f".allowed_lateness({self.chance.choice((5, 20))})" if self.chance.random() < 0.7 else ""
            line += """.side_output_late_data(OutputTag("late", event()))"""
        self._add(line + self._function(assigner, trigger), f"{assigner}, {trigger}")
        if assigner in OVERLAPPING or trigger not in ("default", "count", "purging", "purging count", "nested"):
            self.marks -= {"o"}
        if late:
            self.lines.append("s = s.union(s.get_side_output(LATE).map(lambda v: (v[0], -v[1], v[2]), EVENT))")
            self.marks.clear()

    def _function(self, assigner: str, trigger: str) -> str:
        shown = ["Sorted"]
        if assigner not in MERGING:
            if assigner not in OVERLAPPING or (assigner != "whole" and trigger in STATELESS):
                shown += ["Fired"]
            if "o" in self.marks:
                shown += ["Contents"]
        if self.marks.issuperset("ow"):
            shown += ["Marked"]
        names = ["process", "apply"] if assigner in MERGING else list(FUNCTIONS)
        return FUNCTIONS[self.chance.choice(names)].replace("{p}", self.chance.choice(shown))

    def _end(self) -> None:
        name = self.chance.choice([name for name in ENDS if name in SIMPLE or self.marks.issuperset("nts")])
        self._add(ENDS[name], name)
        self.marks.clear()


def drawn_stream(seed: int) -> str:
    """The text of a function ``build(env)`` that gives a stream; the same for the same seed."""
    return Drawn(seed).text()
