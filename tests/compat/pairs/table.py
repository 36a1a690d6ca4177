"""Old and new programs, and what ``compat check`` says of them.

``rules`` are all findings that a pair has above the level of a note. Whether real PyFlink kept the state is recorded in
``restores.json`` by ``record.py`` for every pair with ``flink=True``; a test compares it with the verdict. The others take
days to show what becomes of them: windows that were open at the savepoint and end by a timer.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.compat.pairs.programs import (
    THREAD,
    aggregating,
    broadcast,
    by_name,
    count_window,
    counting,
    job,
    keep,
    list_,
    map_,
    reducing,
    value,
    window,
)

OK, MIGRATES, BROKEN, UNKNOWN = "compatible", "compatible-with-migration", "incompatible", "unknown"


@dataclass(frozen=True)
class Pair:
    """Two versions of a program, the verdict and the rules that speak up. ``flink``: a real restore is recorded."""

    name: str
    old: str
    new: str
    verdict: str
    rules: frozenset[str] = frozenset()
    flink: bool = True


def pair(name: str, old: str, new: str, verdict: str, *rules: str, flink: bool = True) -> Pair:
    """A pair in a line."""
    return Pair(name, old, new, verdict, frozenset(rules), flink)


def retyped(name: str, old: tuple[str, ...], new: tuple[str, ...], verdict: str, *rules: str) -> Pair:
    """A value state whose type changed; each side is a type and what is stored for the number ``value``."""
    return pair(name, value(*old), value(*new), verdict, *rules)


ROW_AB = 'Types.ROW_NAMED(["a", "b"], [L, L])', "Row(a=value, b=value + 1)"
ROW_ABC = 'Types.ROW_NAMED(["a", "b", "c"], [L, L, S])', 'Row(a=value, b=value + 1, c="c")'
ROW_BA = 'Types.ROW_NAMED(["b", "a"], [L, L])', "Row(b=value + 1, a=value)"
DAY = "TumblingProcessingTimeWindows.of(Time.days(1))"


def first(program: str) -> str:
    """The program with tuples shown as their first field."""
    return program.replace("show(before)", "before and before[0]").replace("show(after)", "after[0]")


def firsts(program: str) -> str:
    """The program with the tuples or rows in a list or map shown as their first field."""
    for shown in ("before", "[*before, after]"):
        program = program.replace(f"show({shown})", f"[each[0] for each in {shown}]")
    return program.replace("show(v)", "v[0]")


TYPES = [
    retyped("type_same", ("L",), ("L",), OK),
    retyped("type_long_to_big_int", ("L",), ("Types.BIG_INT()",), OK),
    retyped("type_big_int_to_long", ("Types.BIG_INT()",), ("L",), OK),
    retyped("type_string_to_char", ("S", "str(value % 10)"), ("Types.CHAR()", "str(value % 10)"), OK),
    retyped("type_int_to_long", ("I",), ("L",), BROKEN, "CMP404"),
    retyped("type_long_to_int", ("L",), ("I",), BROKEN, "CMP404"),
    retyped(
        "type_float_to_double", ("Types.FLOAT()", "float(value)"), ("Types.DOUBLE()", "float(value)"), BROKEN, "CMP404"
    ),
    retyped("type_long_to_double", ("L",), ("Types.DOUBLE()", "float(value)"), BROKEN, "CMP404"),
    retyped("type_long_to_pickled", ("L",), ("P",), BROKEN, "CMP404"),
    retyped("type_pickled_to_long", ("P",), ("L",), BROKEN, "CMP404"),
    retyped("type_pickled_both", ("P",), ("P",), OK),
    retyped(
        "type_big_dec_to_string",
        ("Types.BIG_DEC()", "__import__('decimal').Decimal(value)"),
        ("S", "str(value)"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_row_unnamed_to_named", ("Types.ROW([L, L])", "Row(value, value + 1)"), ROW_AB, OK),
    retyped(
        "type_row_field_renamed",
        ROW_AB,
        ('Types.ROW_NAMED(["a", "x"], [L, L])', "Row(a=value, x=value + 1)"),
        OK,
        "CMP404",
    ),
    pair(
        "type_row_fields_swapped",
        by_name(value(*ROW_AB), "a", "b"),
        by_name(value(*ROW_BA), "a", "b"),
        BROKEN,
        "CMP404",
    ),
    pair(
        "type_row_field_added",
        by_name(value(*ROW_AB), "a", "b", "c"),
        by_name(value(*ROW_ABC), "a", "b", "c"),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_field_added_first",
        ROW_AB,
        ('Types.ROW_NAMED(["z", "a", "b"], [L, L, L])', "Row(z=0, a=value, b=value + 1)"),
        BROKEN,
        "CMP404",
    ),
    pair(
        "type_row_last_field_removed",
        by_name(value(*ROW_ABC), "a", "b"),
        by_name(value(*ROW_AB), "a", "b"),
        MIGRATES,
        "CMP405",
    ),
    retyped(
        "type_row_first_field_removed",
        ROW_ABC,
        ('Types.ROW_NAMED(["b", "c"], [L, S])', 'Row(b=value, c="c")'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_field_retyped",
        ROW_AB,
        ('Types.ROW_NAMED(["a", "b"], [L, S])', 'Row(a=value, b="b")'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_row_nested_field_added",
        ('Types.ROW_NAMED(["r", "n"], [Types.ROW_NAMED(["a"], [L]), L])', "Row(r=Row(a=value), n=1)"),
        ('Types.ROW_NAMED(["r", "n"], [Types.ROW_NAMED(["a", "b"], [L, L]), L])', "Row(r=Row(a=value, b=0), n=1)"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_row_to_tuple", ROW_AB, ("Types.TUPLE([L, L])", "(value, value + 1)"), BROKEN, "CMP404"),
    retyped("type_tuple_to_row", ("Types.TUPLE([L, L])", "(value, value + 1)"), ROW_AB, BROKEN, "CMP404"),
    retyped(
        "type_tuple_extended", ("Types.TUPLE([L])", "(value,)"), ("Types.TUPLE([L, L])", "(value, 0)"), BROKEN, "CMP404"
    ),
    pair(
        "type_tuple_cut",
        first(value("Types.TUPLE([L, L])", "(value, 0)")),
        first(value("Types.TUPLE([L])", "(value,)")),
        MIGRATES,
        "CMP405",
    ),
    retyped("type_list_to_object_array", ("Types.LIST(L)", "[value]"), ("Types.OBJECT_ARRAY(L)", "[value]"), OK),
    retyped("type_list_to_basic_array", ("Types.LIST(L)", "[value]"), ("Types.BASIC_ARRAY(L)", "[value]"), OK),
    retyped(
        "type_list_to_primitive_array",
        ("Types.LIST(L)", "[value]"),
        ("Types.PRIMITIVE_ARRAY(L)", "[value]"),
        BROKEN,
        "CMP404",
    ),
    retyped("type_list_element", ("Types.LIST(L)", "[value]"), ("Types.LIST(S)", "[str(value)]"), BROKEN, "CMP404"),
    retyped(
        "type_map_value",
        ("Types.MAP(S, L)", '{"a": value}'),
        ("Types.MAP(S, S)", '{"a": str(value)}'),
        BROKEN,
        "CMP404",
    ),
    retyped(
        "type_map_value_big_int",
        ("Types.MAP(S, L)", '{"a": value}'),
        ("Types.MAP(S, Types.BIG_INT())", '{"a": value}'),
        OK,
    ),
    retyped("type_boolean_to_byte", ("Types.BOOLEAN()", "True"), ("Types.BYTE()", "1"), BROKEN, "CMP404"),
    retyped(
        "type_instant_same",
        ("Types.INSTANT()", "Instant.of_epoch_milli(value)"),
        ("Types.INSTANT()", "Instant.of_epoch_milli(value)"),
        OK,
    ),
]

KINDS = [
    pair("kind_value_to_list", value("L"), first(list_("L")), OK, "CMP403"),
    pair("kind_list_to_value", list_("L"), value("L"), BROKEN, "CMP403"),
    pair("kind_value_to_list_of_another_type", value("L"), list_("S", "str(value)"), BROKEN, "CMP403", "CMP404"),
    pair("kind_value_to_map", value("L"), map_("L", "L"), BROKEN, "CMP403"),
    pair("kind_map_to_value", map_("L", "L"), value("L"), BROKEN, "CMP403"),
    pair("kind_value_to_reducing", counting(), reducing("L"), OK, "CMP403"),
    pair("kind_reducing_to_value", reducing("L"), counting(), OK, "CMP403"),
    pair("kind_aggregating_to_reducing", aggregating("L"), reducing("L"), OK, "CMP403"),
    pair("kind_list_to_reducing", list_("L"), reducing("L"), BROKEN, "CMP403"),
    pair("list_same", list_("L"), list_("L"), OK),
    pair("list_element_retyped", list_("L"), list_("S", "str(value)"), BROKEN, "CMP404"),
    pair(
        "list_of_tuples_cut",
        firsts(list_("Types.TUPLE([L, L])", "(value, 0)")),
        firsts(list_("Types.TUPLE([L])", "(value,)")),
        BROKEN,
        "CMP404",
    ),
    pair("map_same", map_("L", "L"), map_("L", "L"), OK),
    pair("map_value_retyped", map_("L", "L"), map_("L", "S", "value % 2, str(value)"), BROKEN, "CMP404"),
    pair("map_key_retyped", map_("L", "L"), map_("S", "L", "str(value % 2), value"), BROKEN, "CMP404"),
    pair(
        "map_of_rows_cut",
        firsts(map_("L", ROW_ABC[0], f"value % 2, {ROW_ABC[1]}")),
        firsts(map_("L", ROW_AB[0], f"value % 2, {ROW_AB[1]}")),
        BROKEN,
        "CMP404",
    ),
    pair("reducing_function_changed", reducing("L"), reducing("L", function="lambda a, b: max(a, b) + 1"), OK),
    pair("reducing_retyped", reducing("L"), reducing("I"), BROKEN, "CMP404"),
]

NAMES = [
    pair("state_renamed", value("L", state="s"), value("L", state="t"), BROKEN, "CMP402"),
    pair("state_replaced_by_another_type", value("L", state="s"), value("S", "str(value)", state="t"), OK, "CMP401"),
    pair(
        "state_added",
        value("L"),
        value("L").replace(
            "self.s = ", 'self.t = ctx.get_state(ValueStateDescriptor("t", Types.STRING()))\n        self.s = '
        ),
        OK,
    ),
    pair(
        "state_removed",
        value("L").replace(
            "self.s = ", 'self.t = ctx.get_state(ValueStateDescriptor("t", Types.STRING()))\n        self.s = '
        ),
        value("L"),
        OK,
        "CMP401",
    ),
    pair("class_renamed", value("L"), value("L", name="Remember"), OK),
]

TTL = [
    pair("ttl_on", value("L"), value("L", ttl="10"), OK),
    pair("ttl_off", value("L", ttl="10"), value("L"), OK),
    pair("ttl_longer", value("L", ttl="10"), value("L", ttl="20"), OK),
    pair("ttl_on_list", list_("L"), list_("L", ttl="10"), OK),
    pair("ttl_on_map", map_("L", "L"), map_("L", "L", ttl="10"), OK),
    pair("ttl_off_map", map_("L", "L", ttl="10"), map_("L", "L"), OK),
]

_KEY = 'numbers.key_by({}).process(Keep(), S).uid("keep").print().uid("out")'


def keyed(key: str) -> str:
    """A value state under this key."""
    program = value("L", graph=_KEY.format(key))
    shown = "key = (lambda k: k[0] if isinstance(k, (Row, tuple)) else k)(ctx.get_current_key())"
    return program.replace("key = ctx.get_current_key()", shown)


KEYS = [
    pair("key_selector_rewritten", keyed("lambda x: x % 3, L"), keyed("lambda x: (x + 3) % 3, L"), OK),
    pair("key_long_to_string", keyed("lambda x: x % 3, L"), keyed("lambda x: str(x % 3), S"), BROKEN, "CMP406"),
    pair("key_long_to_int", keyed("lambda x: x % 3, L"), keyed("lambda x: x % 3, I"), BROKEN, "CMP406"),
    pair(
        "key_long_to_big_int", keyed("lambda x: x % 3, L"), keyed("lambda x: x % 3, Types.BIG_INT()"), BROKEN, "CMP406"
    ),
    pair(
        "key_string_to_char",
        keyed("lambda x: str(x % 3), S"),
        keyed("lambda x: str(x % 3), Types.CHAR()"),
        BROKEN,
        "CMP406",
    ),
    pair(
        "key_row_fields_renamed",
        keyed('lambda x: Row(a=x % 3), Types.ROW_NAMED(["a"], [L])'),
        keyed('lambda x: Row(b=x % 3), Types.ROW_NAMED(["b"], [L])'),
        OK,
    ),
    pair(
        "key_row_to_named",
        keyed("lambda x: Row(x % 3), Types.ROW([L])"),
        keyed('lambda x: Row(b=x % 3), Types.ROW_NAMED(["b"], [L])'),
        OK,
    ),
    pair(
        "key_row_field_added",
        keyed('lambda x: Row(a=x % 3), Types.ROW_NAMED(["a"], [L])'),
        keyed('lambda x: Row(a=x % 3, b=0), Types.ROW_NAMED(["a", "b"], [L, L])'),
        BROKEN,
        "CMP406",
    ),
    pair(
        "key_tuple_to_row",
        keyed("lambda x: (x % 3, 0), Types.TUPLE([L, L])"),
        keyed("lambda x: Row(x % 3, 0), Types.ROW([L, L])"),
        BROKEN,
        "CMP406",
    ),
    pair("key_pickled_both", keyed("lambda x: x % 3"), keyed("lambda x: x % 3"), OK),
]

_NO_WINDOW = """
triples = numbers.map(lambda x: (x % 3, 0, x), Types.TUPLE([L, L, L]))
triples.key_by(lambda t: t[0], L).process(Keep(), S).uid("window").print().uid("out")
"""
WINDOWS = [
    pair("window_same", window(DAY), window(DAY), OK),
    pair(
        "window_size_changed",
        window(DAY),
        window("TumblingProcessingTimeWindows.of(Time.days(2))"),
        OK,
        "CMP407",
        flink=False,
    ),
    pair(
        "window_tumbling_to_sliding",
        window(DAY),
        window("SlidingProcessingTimeWindows.of(Time.days(2), Time.days(1))"),
        OK,
        "CMP407",
        flink=False,
    ),
    pair(
        "window_tumbling_to_session",
        window(DAY),
        window("ProcessingTimeSessionWindows.with_gap(Time.days(1))"),
        BROKEN,
        "CMP407",
    ),
    pair(
        "window_session_to_tumbling",
        window("ProcessingTimeSessionWindows.with_gap(Time.days(1))"),
        window(DAY),
        BROKEN,
        "CMP407",
    ),
    pair(
        "window_session_gap",
        window("ProcessingTimeSessionWindows.with_gap(Time.days(1))"),
        window("ProcessingTimeSessionWindows.with_gap(Time.days(2))"),
        OK,
        "CMP407",
        flink=False,
    ),
    pair("window_time_to_count", window(DAY), count_window(1000), BROKEN, "CMP407"),
    pair("window_time_to_global", window(DAY), window("GlobalWindows.create()"), BROKEN, "CMP407"),
    pair("window_count_to_global", count_window(1000), window("GlobalWindows.create()"), BROKEN, "CMP407"),
    pair("window_process_to_reduce", window(DAY), window(DAY, "REDUCE"), BROKEN, "CMP414"),
    pair("window_reduce_same", window(DAY, "REDUCE"), window(DAY, "REDUCE"), OK),
    pair("window_to_keyed_function", window(DAY), keep("", 'yield f"{key}|0|0"', graph=_NO_WINDOW), BROKEN, "CMP103"),
    pair(
        "window_trigger_changed",
        window(DAY),
        window(DAY, trigger="CountTrigger.of(2)").replace("held[:-1]", "held[:-2]"),
        OK,
    ),
    pair(
        "window_processing_to_event_time",
        window(DAY),
        window("TumblingEventTimeWindows.of(Time.days(1))"),
        BROKEN,
        "CMP407",
        flink=False,
    ),
]

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
_MAP = """
class Keep(MapFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", L))

    def map(self, value):
        before = self.s.value()
        self.s.update(value)
        return f"{value % 3}|{show(before)}|{show(value)}"

"""
_PROCESS_GRAPH = 'numbers.key_by(lambda x: x % 3, L).process(Keep(), S).uid("keep").print().uid("out")'
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
_SUM = """
numbers.map(lambda x: (x % 3, 0, 1), Types.TUPLE([L, L, L])).key_by(lambda t: t[0], L) \\
    .reduce(lambda a, b: (a[0], a[2], a[2] + 1)).uid("keep") \\
    .map(lambda t: f"{t[0]}|{t[1]}|{t[2]}", S).print().uid("out")
"""

_KEPT = 'numbers.key_by(lambda x: x % 3, L).process(Keep(), S).uid("keep")'
_SIDE_OUTPUT = f"""kept = {_KEPT}
kept.get_side_output(OutputTag("late", S)).print().uid("late")
kept.print().uid("out")"""
_UNION = f"""more = numbers.filter(lambda x: False).uid("more")
{_KEPT.replace("numbers", "numbers.union(more)")}.print().uid("out")"""
_SECOND_SINK = f"""kept = {_KEPT}
kept.map(lambda s: "again", S).uid("again").print().uid("more")
kept.print().uid("out")"""

OPERATORS = [
    pair(
        "timers_dropped",
        value("L").replace("        key = ", f"        {_TIMER}        key = "),
        value("L"),
        OK,
        "CMP412",
    ),
    pair("timers_added", value("L"), value("L").replace("        key = ", f"        {_TIMER}        key = "), OK),
    pair(
        "keyed_map_to_process",
        job(_PROCESS_GRAPH.replace(".process(Keep(), S)", ".map(Keep(), S)"), _MAP),
        value("L"),
        OK,
    ),
    pair("keyed_process_to_co_process", value("L"), job(_CO_GRAPH, _CO), OK),
    pair("keyed_co_process_to_process", job(_CO_GRAPH, _CO), value("L"), OK),
    pair("reduce_unchanged", job(_SUM), job(_SUM), BROKEN, "CMP413"),
    pair("keyed_process_to_reduce", value("L"), job(_SUM), BROKEN, "CMP103"),
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
    pair("parallelism_raised", value("L"), value("L", settings="env.set_parallelism(2)"), OK),
    pair(
        "max_parallelism_set",
        value("L"),
        value("L", settings="env.set_parallelism(1)\nenv.set_max_parallelism(64)"),
        BROKEN,
        "CMP301",
    ),
    pair(
        "uids_swapped",
        value("L", graph='numbers.key_by(lambda x: x % 3, L).process(Keep(), S).uid("keep").print().uid("out")'),
        value("L", graph='numbers.key_by(lambda x: x % 3, L).process(Keep(), S).uid("kept").print().uid("out")'),
        BROKEN,
        "CMP102",
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

MODES = [
    pair("mode_process_to_thread", value("L"), value("L", settings=THREAD), BROKEN, "CMP603"),
    pair("mode_thread_to_process", value("L", settings=THREAD), value("L"), BROKEN, "CMP603"),
    pair("thread_same", value("L", settings=THREAD), value("L", settings=THREAD), OK),
    pair("thread_long_to_int", value("L", settings=THREAD), value("I", settings=THREAD), OK),
    pair(
        "thread_long_to_big_int",
        value("L", settings=THREAD),
        value("Types.BIG_INT()", settings=THREAD),
        BROKEN,
        "CMP404",
    ),
    pair(
        "thread_row_unnamed_to_named",
        value("Types.ROW([L, L])", "Row(value, value + 1)", settings=THREAD),
        value(*ROW_AB, settings=THREAD),
        OK,
        "CMP404",
    ),
    pair("thread_row_field_added", value(*ROW_AB, settings=THREAD), value(*ROW_ABC, settings=THREAD), OK, "CMP404"),
    pair(
        "thread_row_field_renamed",
        value(*ROW_AB, settings=THREAD),
        value('Types.ROW_NAMED(["a", "x"], [L, L])', "Row(a=value, x=value + 1)", settings=THREAD),
        OK,
        "CMP404",
    ),
    pair(
        "thread_row_fields_swapped",
        value(*ROW_AB, settings=THREAD),
        value('Types.ROW_NAMED(["b", "a"], [L, L])', "Row(b=value + 1, a=value)", settings=THREAD),
        OK,
        "CMP404",
    ),
    pair(
        "thread_tuple_cut",
        value("Types.TUPLE([L, L])", "(value, 0)", settings=THREAD),
        value("Types.TUPLE([L])", "(value,)", settings=THREAD),
        OK,
        "CMP404",
    ),
    pair("thread_value_to_list", value("L", settings=THREAD), list_("L", settings=THREAD), BROKEN, "CMP403"),
    pair("thread_value_to_reducing", counting(settings=THREAD), reducing("L", settings=THREAD), OK, "CMP403"),
    pair("thread_list_same", list_("L", settings=THREAD), list_("L", settings=THREAD), OK),
    pair(
        "thread_list_element", list_("L", settings=THREAD), list_("S", "str(value)", settings=THREAD), BROKEN, "CMP404"
    ),
    pair(
        "thread_map_value",
        map_("L", "L", settings=THREAD),
        map_("L", "S", "value % 2, str(value)", settings=THREAD),
        BROKEN,
        "CMP404",
    ),
    pair("thread_ttl_on", value("L", settings=THREAD), value("L", ttl="10", settings=THREAD), OK),
    pair("thread_pickled_to_long", value("P", settings=THREAD), value("L", settings=THREAD), BROKEN, "CMP404"),
    pair("thread_state_renamed", value("L", settings=THREAD), value("L", state="t", settings=THREAD), BROKEN, "CMP402"),
    pair("thread_window_same", window(DAY, settings=THREAD), window(DAY, settings=THREAD), OK),
    pair("thread_reduce_unchanged", job(_SUM, settings=THREAD), job(_SUM, settings=THREAD), BROKEN, "CMP413"),
]

SECOND = "6730ef7375fb60f9d9bbdfdfd174d803"  # the id that the uid "second" gives
_TWO = _PROCESS_GRAPH + '\nnumbers.key_by(lambda x: x % 5, L).process(Keep(), S).uid("second").print().uid("more")'


def two(*edits: tuple[str, str], settings: str = "env.set_parallelism(1)") -> str:
    """Two counters, with some texts of the graph replaced."""
    graph = _TWO
    for old, new in edits:
        assert old in graph, old
        graph = graph.replace(old, new)
    return value("L", graph=graph, settings=settings)


_PLAIN = '.uid("keep").print()', ".print()"

IDENTITY = [
    pair("operator_removed", two(), value("L"), BROKEN, "CMP101", flink=False),
    pair("operator_added", value("L"), two(), OK, "CMP107", flink=False),
    pair("no_uids", two(_PLAIN), two(_PLAIN), OK, "CMP104", flink=False),
    pair("uids_exchanged", two(), two(('"keep"', '"?"'), ('"second"', '"keep"'), ('"?"', '"second"')), OK, flink=False),
    pair("uid_twice", two(), two(('"second"', '"keep"')), BROKEN, "CMP105", flink=False),
    pair("user_hash_no_hash", two(), two(('.uid("second")', '.set_uid_hash("second")')), BROKEN, "CMP109", flink=False),
    pair(
        "user_hash_of_an_old_id",
        two(),
        two(('.uid("second")', f'.set_uid_hash("{SECOND}")')),
        OK,
        "CMP104",
        flink=False,
    ),
    pair(
        "user_hash_shadows",
        two(),
        value("L", graph=_PROCESS_GRAPH.replace('.uid("keep")', f'.uid("keep").set_uid_hash("{SECOND}")')),
        BROKEN,
        "CMP106",
        flink=False,
    ),
    pair("names_given", two(), two(('.uid("second")', '.uid("second").name("Second")')), OK, flink=False),
    pair(
        "uid_of_a_merged_operator",
        value("L"),
        value("L", graph=_KEPT + '.map(lambda s: s, S).uid("lost").print().uid("out")'),
        OK,
        "CMP110",
        flink=False,
    ),
]

_LONELY = "numbers.map(lambda x: x, L).forward().map(lambda x: x, L).set_parallelism(3).print()\n"

RUNNING = [
    pair(
        "chain_broken", value("L"), value("L", graph=_KEPT + '.start_new_chain().print().uid("out")'), OK, flink=False
    ),
    pair(
        "forward_between_parallelisms",
        value("L"),
        value("L", graph=_LONELY + _PROCESS_GRAPH),
        BROKEN,
        "CMP202",
        flink=False,
    ),
    pair(
        "parallelism_above_max",
        value("L"),
        value("L", settings="env.set_parallelism(200)"),
        BROKEN,
        "CMP302",
        flink=False,
    ),
    pair(
        "max_parallelism_as_it_was",
        value("L"),
        value("L", settings="env.set_parallelism(1)\nenv.set_max_parallelism(128)"),
        OK,
        flink=False,
    ),
    pair(
        "chaining_disabled",
        value("L"),
        value("L", settings="env.set_parallelism(1)\nenv.disable_operator_chaining()"),
        OK,
        "CMP601",
        flink=False,
    ),
    pair(
        "checkpoints_off",
        value("L", settings="env.set_parallelism(1)\nenv.enable_checkpointing(1000)"),
        value("L"),
        OK,
        "CMP602",
        flink=False,
    ),
    pair(
        "states_that_open_does_not_tell",
        value("L"),
        value("L").replace("descriptor = Value", 'open("/no/such/file").close()\n        descriptor = Value'),
        UNKNOWN,
        "CMP410",
        flink=False,
    ),
]

PAIRS = [*IDENTITY, *RUNNING, *TYPES, *KINDS, *NAMES, *TTL, *KEYS, *WINDOWS, *BROADCAST, *OPERATORS, *SOURCES, *MODES]
