"""Windows, and what becomes of those that are open."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, DAYS, OK, pair
from tests.compat.pairs.programs import DAY, count_window, keep, window

_NO_WINDOW = """
triples = numbers.map(lambda x: (x % 3, 0, x), Types.TUPLE([L, L, L]))
triples.key_by(lambda t: t[0], L).process(Keep(), S).uid("window").print().uid("out")
"""


def remembering(asked: str, of: str = "context.window_state()") -> str:
    """A window whose function keeps the last element in a state that it asks for at each firing, and tells that."""
    use = f"s = {of}.get_state({asked})\n        before = s.value()\n        s.update(held[-1])"
    return window(DAY).replace(
        'yield f"{key}|{held[:-1]}|{held}"', f'{use}\n        yield f"{{key}}|{{before}}|{{held[-1]}}"'
    )


_LAST = 'ValueStateDescriptor("last", Types.LONG())'
_GLOBAL = "context.global_state()"
WINDOWS = [
    pair("window_same", window(DAY), window(DAY), OK),
    pair("window_state_same", remembering(_LAST), remembering(_LAST), OK),
    pair("window_state_renamed", remembering(_LAST), remembering(_LAST.replace("last", "latest")), BROKEN, "CMP402"),
    pair("window_state_retyped", remembering(_LAST), remembering(_LAST.replace("LONG", "STRING")), BROKEN, "CMP404"),
    pair("window_state_to_global", remembering(_LAST), remembering(_LAST, _GLOBAL), BROKEN, "CMP407"),
    pair("window_global_state_same", remembering(_LAST, _GLOBAL), remembering(_LAST, _GLOBAL), OK),
    pair("window_global_state_to_a_windows", remembering(_LAST, _GLOBAL), remembering(_LAST), BROKEN, "CMP407"),
    pair(
        "window_size_changed",
        window(DAY),
        window("TumblingProcessingTimeWindows.of(Time.days(2))"),
        OK,
        "CMP407",
        unrecorded=DAYS,
    ),
    pair(
        "window_tumbling_to_sliding",
        window(DAY),
        window("SlidingProcessingTimeWindows.of(Time.days(2), Time.days(1))"),
        OK,
        "CMP407",
        unrecorded=DAYS,
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
        unrecorded=DAYS,
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
        unrecorded=DAYS,
    ),
]
