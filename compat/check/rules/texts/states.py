"""Family 4: the states within an operator, and their types."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP401",
        name="state-dropped",
        level=Level.WARNING,
        summary="A state of OLD is not declared any more.",
        why="The operator gets its old state, but nobody reads this part of it. It is carried along unread, or "
        "dropped.",
        old='get_state(ValueStateDescriptor("count", Types.LONG()))',
        new="# the descriptor was removed",
        fix="Nothing if it may go. Otherwise declare the state again, under the same name.",
    ),
    RuleInfo(
        id="CMP402",
        name="state-renamed",
        level=Level.ERROR,
        summary="A state went and one of the same type came, in the same operator.",
        why="States are found by name. Under the new name there is nothing, so it starts empty for every key, while "
        "the old one is carried along unread: Flink restores this without an error.",
        old='ValueStateDescriptor("count", Types.LONG())',
        new='ValueStateDescriptor("total", Types.LONG())',
        fix="Keep the old name in the descriptor; the variable may have any name. If the new state is meant to start "
        "empty, say so on the line: # compat: ignore[CMP402] reason.",
    ),
    RuleInfo(
        id="CMP403",
        name="state-kind",
        level=Level.ERROR,
        summary="A state changed its kind: value, list, map, reducing, aggregating.",
        why="The kinds lie differently in the store. Value to map fails at the first access; value to list and back, "
        "which PyFlink stores alike, is read as something it is not.",
        when="warning where PyFlink reads the old values all the same: from a state of one value to another such or to a "
        "list, in process mode",
        old='get_state(ValueStateDescriptor("seen", Types.LONG()))',
        new='get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))',
        fix="Give the new state a new name and fill it from the old one while processing; remove the old one in a "
        "later version.",
    ),
    RuleInfo(
        id="CMP404",
        name="state-type",
        level=Level.ERROR,
        summary="The type of a state cannot read the bytes that OLD wrote.",
        why="In PyFlink's process mode Flink sees bytes only and lets this pass. The job fails in Python at the first "
        "record of an old key, or decodes garbage.",
        when="warning where the bytes are read as they are and may mean something else: a field was renamed, or old values "
        "come back pickled in their old form",
        old='ValueStateDescriptor("count", Types.LONG())',
        new='ValueStateDescriptor("count", Types.STRING())',
        fix="Keep the type, or declare the new type under a new name and convert while processing.",
    ),
    RuleInfo(
        id="CMP405",
        name="state-type-migrates",
        level=Level.MIGRATE,
        summary="The type of a state changed in a way that the old bytes can be converted to.",
        why="A snapshot in a store names the fields of rows and the schemas of Avro records: fields may come, go and move, "
        "and all values are converted while they are restored. PyFlink converts nothing, but does not look at what follows the "
        "last field that is still declared.",
        old='Types.ROW_NAMED(["user", "count", "note"], [Types.STRING(), Types.LONG(), Types.STRING()])',
        new='Types.ROW_NAMED(["user", "count"], [Types.STRING(), Types.LONG()])',
        fix="Nothing. Take a savepoint before: the converted state cannot be read by OLD any more.",
    ),
    RuleInfo(
        id="CMP406",
        name="key-type",
        level=Level.ERROR,
        summary="The type of an operator's key changed.",
        why="The bytes of the key decide in which key group its state lies, and under what it is found. Flink never "
        "converts keys: it refuses when the task starts.",
        old="stream.key_by(lambda r: r[0], Types.LONG())",
        new="stream.key_by(lambda r: r[0], Types.STRING())",
        fix="Keep the key's type. A job that needs another one starts without old state, under another uid.",
    ),
    RuleInfo(
        id="CMP407",
        name="window-changed",
        level=Level.ERROR,
        summary="The window assigner makes windows of another type.",
        why="Each window's state lies under the window itself. Time windows, count windows and the global window are "
        "written differently, so the old windows cannot be read.",
        old="keyed.window(TumblingEventTimeWindows.of(Time.minutes(5)))",
        new="keyed.count_window(100)",
        fix="Give the new window another uid, and let the old one run out first if its results matter.",
        when="error also from merging (session) windows to others and back, and between event and processing time: open "
        "windows never end; warning if only the size, slide or gap changed: open windows of the old size end beside the new",
    ),
    RuleInfo(
        id="CMP408",
        name="ttl-changed",
        level=Level.ERROR,
        summary="Time to live was switched on or off for a state.",
        why="With a time to live each value is stored with a timestamp. Flink 1.20 cannot convert between the two "
        "forms and refuses; Flink 2.3 converts.",
        old='ValueStateDescriptor("count", Types.LONG())',
        new="descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())",
        fix="On Flink 1.20, keep it as it was, or declare the state under a new name. On 2.3 nothing.",
        when="note on Flink 2.3, which converts the state",
    ),
    RuleInfo(
        id="CMP409",
        name="redistribution",
        level=Level.ERROR,
        summary="Operator state changed between list, union and broadcast.",
        why="The three are handed out to subtasks differently and recorded with the state. Flink refuses to read one "
        "as another.",
        old="a list state, split between the subtasks",
        new="the same name as a union list state",
        fix="Use a new name for the state of the new kind, or keep the kind.",
    ),
    RuleInfo(
        id="CMP410",
        name="state-not-known",
        level=Level.UNKNOWN,
        summary="The states of an operator could not be found out.",
        why="States are found by calling the function's open(). If that fails, or the states are made while records "
        "are processed, the check cannot see them. What is not known is not called compatible.",
        old='def open(self, ctx):\n    self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))',
        new='def open(self, ctx):\n    self.model = load("/models/current")   # not there on this machine',
        fix="Declare the states first in open(), before anything that can fail; or accept it with --allow-unknown.",
    ),
    RuleInfo(
        id="CMP411",
        name="pickled-type",
        level=Level.NOTE,
        summary="A state holds pickled values on both sides.",
        why="The bytes can be read, but what is inside is up to the classes: a renamed module or a changed attribute "
        "shows only when a value is unpickled.",
        old='ValueStateDescriptor("user", Types.PICKLED_BYTE_ARRAY())',
        new='ValueStateDescriptor("user", Types.PICKLED_BYTE_ARRAY())',
        fix="Declare a type, or keep the pickled classes importable under their old names.",
    ),
    RuleInfo(
        id="CMP412",
        name="timers-dropped",
        level=Level.WARNING,
        summary="OLD registered timers, NEW does not handle them.",
        why="Timers are part of the state. Those that OLD set fire in NEW too, into a function that does nothing with "
        "them.",
        old="def on_timer(self, timestamp, ctx): yield self.count.value()",
        new="# no on_timer",
        fix="Keep on_timer until the last timer of OLD has fired.",
    ),
    RuleInfo(
        id="CMP413",
        name="built-in-state-unrestorable",
        level=Level.ERROR,
        summary="PyFlink's keyed reduce, sum, min, max and their like never find their state again.",
        why="PyFlink keeps that state under a name drawn at random each time an operator opens. After a restore, even "
        "of the same program, the results start from nothing: Flink restores this without an error.",
        old="keyed.sum(1)",
        new='keyed.process(Sum()).uid("sum")   # with ValueStateDescriptor("sum", Types.LONG())',
        fix="Write it as a KeyedProcessFunction with a state of your own name.",
    ),
    RuleInfo(
        id="CMP414",
        name="window-function-kind",
        level=Level.WARNING,
        summary="A window's reduce or aggregate became process or apply, or the other way.",
        why="The first keeps one element a window, the second all of them, under the same name. After the restore "
        "each window that was open counts as one element.",
        old='windowed.reduce(add).uid("window")',
        new='windowed.process(CountAll()).uid("window")',
        fix="Give the new window operator another uid, or restore when no window is open that matters.",
        when="error from process or apply to reduce or aggregate: of each open window only the first element is kept",
    ),
)
