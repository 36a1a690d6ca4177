"""Thread mode, and changes between it and process mode."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, ROW_AB, ROW_ABC, pair, under
from tests.compat.pairs.programs import DAY, SUM, THREAD, counting, job, list_, map_, reducing, value, window

SESSIONS = "ProcessingTimeSessionWindows.with_gap(Time.days(1))"

MODES = [
    pair("mode_process_to_thread", value("L"), value("L", settings=THREAD), BROKEN, "CMP603"),
    pair("mode_thread_to_process", value("L", settings=THREAD), value("L"), BROKEN, "CMP603"),
    pair("mode_of_a_window", window(DAY), window(DAY, settings=THREAD), BROKEN, "CMP603"),
    pair("mode_of_a_reduced_window", window(DAY, "REDUCE"), window(DAY, "REDUCE", settings=THREAD), BROKEN, "CMP603"),
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
    pair(
        "thread_window_process_to_reduce",
        window(DAY, settings=THREAD),
        window(DAY, "REDUCE", settings=THREAD),
        BROKEN,
        "CMP414",
    ),
    pair(
        "thread_window_reduce_to_process",
        window(DAY, "REDUCE", settings=THREAD),
        window(DAY, settings=THREAD),
        BROKEN,
        "CMP414",
    ),
    pair(
        "thread_sessions",
        window(SESSIONS, settings=THREAD),
        window(SESSIONS, settings=THREAD),
        OK,
        "CMP429",
        unrecorded="Flink cannot take a savepoint of them, as the rule says",
    ),
    under(
        pair(
            "thread_sessions_in_flink_1_20",
            window(SESSIONS, settings=THREAD),
            window(SESSIONS, settings=THREAD),
            OK,
            "CMP429",
            unrecorded="Flink 1.20.1 cannot take a savepoint of them either",
        ),
        flink="1.20",
    ),
    pair("thread_reduce_unchanged", job(SUM, settings=THREAD), job(SUM, settings=THREAD), BROKEN, "CMP413"),
]
