"""Operators with state of another kind, before and behind others, with timers, with broadcast state."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, Pair, pair, under
from tests.compat.pairs.programs import DAY, KEPT, KEYED, SUM, broadcast, job, value

BROADCAST = [
    pair("broadcast_same", broadcast("rules", "L", "L"), broadcast("rules", "L", "L"), OK),
    pair("broadcast_renamed", broadcast("rules", "L", "L"), broadcast("laws", "L", "L"), BROKEN, "CMP402"),
    pair(
        "broadcast_value_retyped",
        broadcast("rules", "L", "L"),
        broadcast("rules", "L", "S", "0, str(value)"),
        BROKEN,
        "CMP404",
    ),
    pair(
        "broadcast_key_retyped",
        broadcast("rules", "L", "L"),
        broadcast("rules", "S", "L", '"0", value'),
        BROKEN,
        "CMP404",
    ),
    pair("broadcast_key_big_int", broadcast("rules", "L", "L"), broadcast("rules", "Types.BIG_INT()", "L"), OK),
    pair(
        "broadcast_state_added",
        broadcast("rules", "L", "L"),
        broadcast("rules", "L", "L", extra='EXTRA = MapStateDescriptor("extra", S, S)'),
        OK,
    ),
    pair(
        "broadcast_state_removed",
        broadcast("rules", "L", "L", extra='EXTRA = MapStateDescriptor("extra", S, S)'),
        broadcast("rules", "L", "L"),
        OK,
        "CMP401",
    ),
    pair("broadcast_keyed_to_plain", broadcast("rules", "L", "L"), broadcast("rules", "L", "L", keyed=False), OK),
    pair("broadcast_plain_to_keyed", broadcast("rules", "L", "L", keyed=False), broadcast("rules", "L", "L"), OK),
]

_TIMER = "ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 3600000)\n"
_WITH_TIMER = value("L").replace("        key = ", f"        {_TIMER}        key = ")
_MAP = """
class Keep(MapFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", L))

    def map(self, value):
        before = self.s.value()
        self.s.update(value)
        return f"{value % 3}|{show(before)}|{show(value)}"

"""
_CO = """
class Keep(KeyedCoProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", L))

    def process_element1(self, value, ctx):
        before = self.s.value()
        self.s.update(value)
        yield f"{ctx.get_current_key()}|{show(before)}|{show(value)}"

    def process_element2(self, value, ctx):
        return []

"""
_CO_GRAPH = """
other = numbers.map(lambda x: x + 1, L).uid("other")
numbers.connect(other).key_by(lambda x: x % 3, lambda x: x % 3, L).process(Keep(), S).uid("keep").print().uid("out")
"""
_SIDE_OUTPUT = f"""kept = {KEPT}
kept.get_side_output(OutputTag("late", S)).print().uid("late")
kept.print().uid("out")"""
_UNION = f"""more = numbers.filter(lambda x: False).uid("more")
{KEPT.replace("numbers", "numbers.union(more)")}.print().uid("out")"""
_SECOND_SINK = f"""kept = {KEPT}
kept.map(lambda s: "again", S).uid("again").print().uid("more")
kept.print().uid("out")"""

_SUM_OF_A_DAY = SUM.replace(".reduce(", f".window({DAY}).trigger(CountTrigger.of(1)).reduce(")


def _over_rocksdb(name: str, timers: str, *rules: str) -> Pair:
    given = pair(name, _WITH_TIMER, _WITH_TIMER, OK, *rules, unrecorded="tests/golden/heap_timers has what Flink did")
    factory = "state.backend.rocksdb.timer-service.factory"
    return under(given, definitions={"state.backend.type": "rocksdb", factory: timers})


OPERATORS = [
    pair("timers_dropped", _WITH_TIMER, value("L"), OK, "CMP412"),
    pair("timers_kept", _WITH_TIMER, _WITH_TIMER, OK),
    _over_rocksdb("timers_on_heap", "HEAP", "CMP506"),
    _over_rocksdb("timers_in_rocksdb", "ROCKSDB"),
    pair("timers_added", value("L"), _WITH_TIMER, OK),
    pair(
        "keyed_map_to_process",
        job(KEYED.replace(".process(Keep(), S)", ".map(Keep(), S)"), _MAP),
        value("L"),
        OK,
    ),
    pair("keyed_process_to_co_process", value("L"), job(_CO_GRAPH, _CO), OK),
    pair("keyed_co_process_to_process", job(_CO_GRAPH, _CO), value("L"), OK),
    pair("reduce_unchanged", job(SUM), job(SUM), BROKEN, "CMP413"),
    pair("reduce_in_a_window", job(_SUM_OF_A_DAY), job(_SUM_OF_A_DAY), OK),
    pair("keyed_process_to_reduce", value("L"), job(SUM), BROKEN, "CMP103"),
    pair(
        "keyed_process_replaced_by_reduce", value("L"), job(SUM.replace('"keep"', '"sum"')), BROKEN, "CMP101", "CMP107"
    ),
    pair(
        "side_output_added",
        value("L"),
        value(
            "L",
            graph=_SIDE_OUTPUT,
        ),
        OK,
    ),
    pair(
        "union_added",
        value("L"),
        value(
            "L",
            graph=_UNION,
        ),
        OK,
    ),
    pair(
        "sink_added",
        value("L"),
        value(
            "L",
            graph=_SECOND_SINK,
        ),
        OK,
    ),
]

_FILES = """FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/etc/hostname") \\
    .monitor_continuously(Duration.of_seconds(1)).build()"""
_FILE_SOURCE = (
    value("L")
    .replace("NumberSequenceSource(1, 10000000)", _FILES)
    .replace(".map(slow, Types.LONG())", ".map(lambda line: 1, Types.LONG())")
    .replace(
        "import time\n",
        "import time\n\nfrom pyflink.datastream.connectors.file_system import FileSource, StreamFormat\n",
        1,
    )
)

SOURCES = [
    pair("source_same_other_range", value("L"), value("L").replace("10000000)", "20000000)"), OK),
    pair("source_of_another_connector", value("L"), _FILE_SOURCE, BROKEN, "CMP404"),
]
