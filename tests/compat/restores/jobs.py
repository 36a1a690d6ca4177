"""Jobs as data, and as programs in PyFlink's spelling that tell what their state held.

Each operator with state prints ``OPERATOR.STATE.KEY|before|after|n`` for each number n that reaches it: what the state held,
and what it was left with. Operators and states keep the names that these lines begin with, whatever a new version calls
them; so the first line after a restore tells whether the state of the old version came back. What is stored is the number,
with the operator's own digit behind it: the state of another operator is seen to be another's.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from tests.compat.restores.texts import (
    ASSIGNERS,
    ASYNC,
    EXCHANGES,
    HEAD,
    KEYS,
    MAP_KEYS,
    SLOW,
    STATELESS,
    TRIGGERS,
    TYPES,
)


@dataclass(frozen=True)
class Step:
    """A step without state: one of STATELESS, EXCHANGES, ``timestamps``, ``async``, or a union with another source."""

    kind: str
    uid: str | None = None
    parallelism: int | None = None
    chaining: str | None = None

    def on(self, stream: str) -> str:
        """The expression of a stream with this step behind it."""
        if self.kind == "async":
            of = f"{stream}, Ask(), Time.seconds(600), 10, Types.LONG()"
            return f"AsyncDataStream.ordered_wait({of})" + named(self.uid)
        return stream + self._call()

    def _call(self) -> str:
        if self.kind in EXCHANGES:
            return f".{EXCHANGES[self.kind]}"
        if self.kind.startswith("union"):
            return f".union({self.kind.partition(' ')[2] or 'other'})"
        if self.kind == "timestamps":
            strategy = "WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamped())"
            return f".assign_timestamps_and_watermarks({strategy})" + named(self.uid)
        text = f".{STATELESS[self.kind]}" + named(self.uid)
        text += f".set_parallelism({self.parallelism})" if self.parallelism else ""
        return text + (f".{self.chaining}()" if self.chaining else "")


@dataclass(frozen=True)
class State:
    """A state of a keyed function; ``label`` stays where ``name`` changes."""

    label: str
    name: str
    kind: str
    type: str
    map_key: str = "LONG"
    ttl: int | None = None

    def declare(self) -> str:
        type, field = TYPES[self.type][0], f"self.{self.label}"
        rest = {
            "value": f"ValueStateDescriptor({self.name!r}, {type})",
            "list": f"ListStateDescriptor({self.name!r}, {type})",
            "map": f"MapStateDescriptor({self.name!r}, {MAP_KEYS[self.map_key][0]}, {type})",
            "reducing": f"ReducingStateDescriptor({self.name!r}, last, {type})",
            "aggregating": f"AggregatingStateDescriptor({self.name!r}, Last(), {type})",
        }[self.kind]
        ttl = f"StateTtlConfig.new_builder(Time.hours({self.ttl})).build()"
        get = {"value": "get_state"}.get(self.kind, f"get_{self.kind}_state")
        lines = [f"descriptor = {rest}"]
        lines += [f"descriptor.enable_time_to_live({ttl})"] if self.ttl else []
        return "\n".join([*lines, f"{field} = ctx.{get}(descriptor)"])

    def use(self, of: str) -> str:
        field, make, key = f"self.{self.label}", TYPES[self.type][1], MAP_KEYS[self.map_key][1]
        steps = {
            "value": f"before, after = num({field}.value()), v\n{field}.update({make})",
            "list": f"before = [num(each) for each in {field}.get() or ()]\nafter = [*before, v]\n{field}.add({make})",
            "map": f"before = {{str(k): num(each) for k, each in {field}.items()}}\n{field}.put({key}, {make})\n"
            f"after = dict(sorted({{**before, str({key}): v}}.items()))\nbefore = dict(sorted(before.items()))",
            "reducing": f"before, after = num({field}.get()), v\n{field}.add({make})",
            "aggregating": f"before, after = num({field}.get()), v\n{field}.add({make})",
        }[self.kind]
        return f'{steps}\nyield line("{of}.{self.label}", ctx_key, before, after, n)'


@dataclass(frozen=True)
class Operator:
    """An operator with state and what prints what it gives. ``label`` stays where uid, name and kind change."""

    label: str
    digit: int
    kind: str
    key: str = "LONG"
    uid: str | None = None
    name: str | None = None
    user_hash: str | None = None
    states: tuple[State, ...] = ()
    window: str = "tumbling"
    trigger: str = "count"
    lateness: int | None = None
    function: str = "process"
    element: str = "LONG"
    timers: bool = False
    side_output: bool = False
    turned: bool = False
    before: tuple[Step, ...] = ()
    behind: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    sink_uid: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The beginnings of the lines that it prints."""
        if self.kind in ("keyed print", "files"):
            return ()
        if self.kind in ("window", "count window", "window all", "reduce"):
            return (f"{self.label}.contents",)
        return tuple(f"{self.label}.{state.label}" for state in self.states)

    def classes(self) -> str:
        """The classes of its functions."""
        open = indent("\n".join(state.declare() for state in self.states) or "pass", " " * 8)
        use = "\n".join(state.use(self.label) for state in self.states) or "yield from ()"
        v = f"v = (abs(n) % 10**6 * 10 + {self.digit}) * (1 if n > 0 else -1)"
        work = f"ctx_key = ctx.get_current_key()\n{v}\n{use}"
        if self.timers:
            due = "ctx.timer_service().current_processing_time() + 3600000"
            work = f"ctx.timer_service().register_processing_time_timer({due})\n{work}"
        name = f"{self.label.title()}Function"
        head = f"class {name}({{}}):\n    def open(self, ctx):\n{open}\n\n"
        body = indent(work, " " * 8)
        timer = "\n    def on_timer(self, timestamp, ctx):\n        return []\n" if self.timers else ""
        if self.kind == "process":
            return f"{head.format('KeyedProcessFunction')}    def process_element(self, n, ctx):\n{body}\n{timer}"
        one, two = ("2", "1") if self.turned else ("1", "2")
        plain = indent(f"ctx_key = n % 3\n{v}\n{use}", " " * 8)
        if self.kind == "flat map":
            return f"{head.format('FlatMapFunction')}    def flat_map(self, n):\n{plain}\n"
        if self.kind == "map":
            return f"{head.format('MapFunction')}    def map(self, n):\n{_joined(plain)}\n"
        if self.kind == "co flat map":
            second = f"    def flat_map{two}(self, n):\n        return []\n"
            return f"{head.format('CoFlatMapFunction')}    def flat_map{one}(self, n):\n{plain}\n\n{second}"
        if self.kind == "co map":
            second = f"    def map{two}(self, n):\n        return 'none|0'\n"
            return f"{head.format('CoMapFunction')}    def map{one}(self, n):\n{_joined(plain)}\n\n{second}"
        if self.kind == "co process":
            second = f"    def process_element{two}(self, n, ctx):\n        return []\n"
            first = f"    def process_element{one}(self, n, ctx):\n{body}\n\n"
            return f"{head.format('KeyedCoProcessFunction')}{first}{second}{timer}"
        if self.kind in ("broadcast", "keyed broadcast"):
            return self._broadcast(name, v)
        if self.kind in ("window", "count window", "window all"):
            return self._window(name, v)
        return ""

    def _broadcast(self, name: str, v: str) -> str:
        base = "KeyedBroadcastProcessFunction" if self.kind == "keyed broadcast" else "BroadcastProcessFunction"
        made, used = [], []
        for state in self.states:
            rules, (key_type, key), (type, make) = (
                f"{self.label}_{state.label}".upper(),
                MAP_KEYS[state.map_key],
                TYPES[state.type],
            )
            made.append(f'{rules} = MapStateDescriptor("{state.name}", {key_type}, {type})')
            used += [
                f"before, after = num(ctx.get_broadcast_state({rules}).get({key})), v",
                f"ctx.get_broadcast_state({rules}).put({key}, {make})",
                f'yield line("{self.label}.{state.label}", {key}, before, after, n)',
            ]
        work = indent("\n".join([v, *used]), " " * 8)
        return (
            "\n".join(made)
            + f"\n\n\nclass {name}({base}):\n    def process_element(self, n, ctx):\n        return []\n\n"
            f"    def process_broadcast_element(self, n, ctx):\n{work}\n"
        )

    def _window(self, name: str, v: str) -> str:
        if self.function not in ("process", "apply"):
            return ""
        held = f"held = []\nfor n in elements:\n{indent(v, ' ' * 4)}\n    held.append(v)"
        work = indent(
            f'{held}\nyield line("{self.label}.contents", {"0" if self.kind == "window all" else "key"}, held[:-1], held, n)',
            " " * 8,
        )
        base, method, given = (
            ("ProcessWindowFunction", "process", "key, context, elements")
            if self.function == "process"
            else ("WindowFunction", "apply", "key, window, elements")
        )
        return f"class {name}({base}):\n    def {method}(self, {given}):\n{work}\n"

    def graph(self) -> str:
        """The statements that add it."""
        name, type = f"{self.label.title()}Function()", "Types.STRING()"
        trunk = (
            "numbers"
            if self.behind is None
            else f"{self.behind}.map(lambda line: int(line.rsplit('|', 1)[1]), Types.LONG())"
        )
        stream = through(self.before, trunk)
        of, key = self._keyed("n"), KEYS[self.key][1].format(n="n")
        calls = named(self.uid, self.name, self.user_hash)
        calls += self._as_many()
        calls += f".set_max_parallelism({self.max_parallelism})" if self.max_parallelism else ""
        out = f"{self.label}.print()" + named(self.sink_uid) + self._as_many()
        if self.kind == "keyed print":
            return f"{stream}.key_by({of}).print()" + named(self.sink_uid)
        if self.kind == "files":
            sink = "FileSink.for_row_format('/tmp/restores-of-random-jobs', Encoder.simple_string_encoder()).build()"
            return f"{stream}.map(str, {type}).sink_to({sink})" + named(self.uid, self.name)
        if self.kind in ("process", "map", "flat map"):
            made = f"{stream}.key_by({of}).{self.kind.replace(' ', '_')}({name}, {type})"
        elif self.kind in ("co process", "co map", "co flat map"):
            second = "numbers.map(lambda n: n + 1, Types.LONG())"
            one, two = (second, stream) if self.turned else (stream, second)
            method = self.kind.removeprefix("co ").replace(" ", "_")
            made = f"{one}.connect({two}).key_by(lambda n: {key}, {of}).{method}({name}, {type})"
        elif self.kind in ("broadcast", "keyed broadcast"):
            given = ", ".join(f"{self.label}_{state.label}".upper() for state in self.states)
            first = f"{stream}.key_by({of})" if self.kind == "keyed broadcast" else stream
            made = f"{first}.connect(numbers.map(lambda n: n, Types.LONG()).broadcast({given})).process({name}, {type})"
        else:
            return f"{self.label} = {self._windowed(stream, calls, name)}\n{out}"
        text = f"{self.label} = {made}{calls}\n{out}"
        if self.side_output:
            text += f'\n{self.label}.get_side_output(OutputTag("{self.label}-late", Types.STRING())).print()'
        return text

    def _as_many(self) -> str:
        """The parallelism, of what prints its lines as well, so that they come in the order of their numbers."""
        return f".set_parallelism({self.parallelism})" if self.parallelism else ""

    def _keyed(self, of: str) -> str:
        type, key = KEYS[self.key]
        return f"lambda {of.partition('[')[0]}: {key.format(n=of)}" + (f", {type}" if type else "")

    def _windowed(self, stream: str, calls: str, name: str) -> str:
        element = TYPES[self.element][0]
        triples = f"Types.TUPLE([{element}, {element}, {element}])"
        tag = f"abs({{}}) % 10**6 * 10 + {self.digit}"
        before = f"None if t[1] == -1 else {tag.format('t[1]')}"
        key = "0" if self.kind == "window all" else "abs(t[0]) % 3"
        shown = f"line('{self.label}.contents', {key}, {before}, {tag.format('t[2]')}, t[2])"
        lines = f".map(lambda t: {shown}, Types.STRING()){self._as_many()}"
        folded = self.kind == "reduce" or self.function in ("reduce", "aggregate")
        of = self._keyed("t[0]" if folded else "n")
        if folded:
            stream = f"{stream}.map(lambda n: (n, -1, n), {triples})"
        elif self.element != "LONG":
            stream = f"{stream}.map(lambda n: n, {element})"
        reduced = "reduce(lambda a, b: (b[0], a[2], b[2]))"
        if self.kind == "reduce":
            return f"{stream}.key_by({of}).{reduced}{calls}{lines}"
        trigger = f".trigger({TRIGGERS[self.trigger]})"
        trigger += "" if self.lateness is None else f".allowed_lateness({self.lateness})"
        window = {
            "window": f".key_by({of}).window({ASSIGNERS[self.window]}){trigger}",
            "count window": f".key_by({of}).window(GlobalWindows.create()){trigger}",
            "window all": f".window_all({ASSIGNERS[self.window]}){trigger}",
        }[self.kind]
        function = {
            "process": f"process({name}, Types.STRING())",
            "apply": f"apply({name}, Types.STRING())",
            "reduce": reduced,
            "aggregate": f"aggregate(LastTwo(), accumulator_type={triples}, output_type={triples})",
        }[self.function]
        return f"{stream}{window}.{function}{calls}" + (lines if folded else "")


@dataclass(frozen=True)
class Source:
    """A source of numbers from ``first`` on, a collection of them if ``listed``; numbers that are another source's become
    negative."""

    label: str
    first: int
    uid: str | None
    slow_uid: str | None
    last_of: int = 10_000_000
    listed: bool = False

    def graph(self) -> str:
        low, high = self.first, self.first + 10_000_000
        if self.listed:
            source = f"env.from_collection(list(range({self.first}, {self.first + self.last_of})), Types.LONG())"
        else:
            source = (
                f"env.from_source(NumberSequenceSource({self.first}, {self.first + self.last_of - 1}), "
                f'WatermarkStrategy.no_watermarks(), "{self.label}")'
            )
        return (
            f"{self.label} = {source}{named(self.uid)}"
            f".map(lambda n: slow(n, {low}, {high}), Types.LONG()){named(self.slow_uid)}"
        )


@dataclass(frozen=True)
class Job:
    """A version of a job. The numbers of the first source go through the trunk; operators branch off it."""

    sources: tuple[Source, ...]
    trunk: tuple[Step, ...]
    operators: tuple[Operator, ...]
    parallelism: int = 1
    max_parallelism: int | None = None
    mode: str = "process"
    chaining: bool = True
    python_chaining: bool = True
    runtime: str | None = None
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The beginnings of the lines that it prints."""
        return tuple(label for operator in self.operators for label in operator.labels)

    def program(self) -> str:
        """The job in PyFlink's spelling."""
        settings = "Configuration()"
        settings += '.set_string("python.execution-mode", "thread")' if self.mode == "thread" else ""
        settings += "" if self.python_chaining else '.set_string("python.operator-chaining.enabled", "false")'
        settings += "".join(f'.set_string("{key}", "{value}")' for key, value in self.settings)
        body = [
            f"env = StreamExecutionEnvironment.get_execution_environment({settings})",
            f"env.set_parallelism({self.parallelism})",
            *([f"env.set_max_parallelism({self.max_parallelism})"] if self.max_parallelism else []),
            *([f"env.set_runtime_mode(RuntimeExecutionMode.{self.runtime})"] if self.runtime else []),
            *([] if self.chaining else ["env.disable_operator_chaining()"]),
            *(source.graph() for source in reversed(self.sources)),
            f"numbers = {through(self.trunk, self.sources[0].label)}",
            *(operator.graph() for operator in self.operators),
            'env.execute("job")',
        ]
        classes = "\n\n".join(text for operator in self.operators if (text := operator.classes()))
        main = indent("\n".join(body), "    ")
        steps = (*self.trunk, *(step for operator in self.operators for step in operator.before))
        asked = ASYNC if any(step.kind == "async" for step in steps) else ""
        return (
            f'{HEAD}{asked}\n{SLOW}\n\n{classes}\n\ndef main():\n{main}\n\n\nif __name__ == "__main__":\n    main()\n'
        )


def named(uid: str | None, name: str | None = None, user_hash: str | None = None) -> str:
    """The calls that name an operator."""
    return (
        (f'.uid("{uid}")' if uid else "")
        + (f'.name("{name}")' if name else "")
        + (f'.set_uid_hash("{user_hash}")' if user_hash else "")
    )


def through(steps: tuple[Step, ...], stream: str) -> str:
    """The expression of a stream with steps behind it."""
    for step in steps:
        stream = step.on(stream)
    return stream


def _joined(work: str) -> str:
    """What a function does that gives one line, where ``work`` yields several."""
    return f"        def lines():\n{indent(work, '    ')}\n\n        return '\\n'.join(lines())"
