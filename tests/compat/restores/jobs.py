"""Jobs as data, and as programs in PyFlink's spelling that tell what their state held.

Each operator with state prints ``OPERATOR.STATE.KEY|before|after|n`` for each number n that reaches it: what the state held,
and what it was left with. Operators and states keep the names that these lines begin with, whatever a new version calls
them; so the first line after a restore tells whether the state of the old version came back. What is stored is the number,
with the operator's own digit behind it: the state of another operator is seen to be another's.
"""

from __future__ import annotations

from textwrap import indent

from msgspec import Struct

from tests.compat.restores.texts import (
    ASSIGNERS,
    ASYNC,
    COMPACTION,
    CSV,
    EXCHANGES,
    FILES,
    HEAD,
    INPUTS,
    KEYS,
    MAP_KEYS,
    MORE,
    OUT_FILES,
    OUTPUTS,
    PART,
    PATHS,
    ROLLING,
    SLOW,
    STATELESS,
    TIMES_TO_LIVE,
    TRIGGERS,
    TYPES,
)

ASKING = {"async": "ordered_wait", "async unordered": "unordered_wait"}
"""Steps that ask asynchronously, and how."""


class Step(Struct, frozen=True):
    """A step without state: one of STATELESS, EXCHANGES, ASKING, ``timestamps``, or a union with another source.

    ``union again NAME`` is one with what is left of a source behind a filter that lets nothing pass.
    """

    kind: str
    uid: str | None = None
    parallelism: int | None = None
    chaining: str | None = None

    def on(self, stream: str) -> str:
        """The expression of a stream with this step behind it."""
        if self.kind in ASKING:
            of = f"{stream}, Ask(), Time.seconds(600), 10, Types.LONG()"
            return f"AsyncDataStream.{ASKING[self.kind]}({of})" + named(self.uid)
        return stream + self._call()

    def _call(self) -> str:
        if self.kind in EXCHANGES:
            return f".{EXCHANGES[self.kind]}"
        if self.kind.startswith("union again"):
            return f".union({self.kind.split()[2]}.filter(lambda n: False))"
        if self.kind.startswith("union"):
            return f".union({self.kind.partition(' ')[2] or 'other'})"
        if self.kind == "timestamps":
            strategy = "WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamped())"
            return f".assign_timestamps_and_watermarks({strategy})" + named(self.uid)
        text = f".{STATELESS[self.kind]}" + named(self.uid)
        text += f".set_parallelism({self.parallelism})" if self.parallelism else ""
        return text + (f".{self.chaining}()" if self.chaining else "")


class State(Struct, frozen=True):
    """A state of a keyed function; ``label`` stays where ``name`` changes."""

    label: str
    name: str
    kind: str
    type: str
    map_key: str = "LONG"
    ttl: int | None = None
    ttl_how: str = "created"

    def declare(self) -> str:
        type, field = TYPES[self.type][0], f"self.{self.label}"
        rest = {
            "value": f"ValueStateDescriptor({self.name!r}, {type})",
            "list": f"ListStateDescriptor({self.name!r}, {type})",
            "map": f"MapStateDescriptor({self.name!r}, {MAP_KEYS[self.map_key][0]}, {type})",
            "reducing": f"ReducingStateDescriptor({self.name!r}, last, {type})",
            "aggregating": f"AggregatingStateDescriptor({self.name!r}, Last(), {type})",
        }[self.kind]
        ttl = f"StateTtlConfig.new_builder(Time.hours({self.ttl})){TIMES_TO_LIVE[self.ttl_how]}.build()"
        get = {"value": "get_state"}.get(self.kind, f"get_{self.kind}_state")
        lines = [f"descriptor = {rest}"]
        lines += [f"descriptor.enable_time_to_live({ttl})"] if self.ttl else []
        return "\n".join([*lines, f"{field} = ctx.{get}(descriptor)"])

    def use(self, of: str) -> str:
        field, make, key = f"self.{self.label}", TYPES[self.type][1], MAP_KEYS[self.map_key][1]
        steps = {
            "value": f"before, after = num({field}.value()), v\n{field}.update({make})",
            "list": f"before = [num(each) for each in {field}.get() or ()]\nafter = [*before, v]\n{field}.add({make})",
            "map": f"before = entries({field})\n{field}.put({key}, {make})\nafter = entries({field})",
            "reducing": f"before, after = num({field}.get()), v\n{field}.add({make})",
            "aggregating": f"before, after = num({field}.get()), v\n{field}.add({make})",
        }[self.kind]
        return f'{steps}\nyield line("{of}.{self.label}", ctx_key, before, after, n)'


class Operator(Struct, frozen=True):
    """An operator with state and what prints what it gives. ``label`` stays where uid, name and kind change.

    ``kept`` are states by key beside broadcast ones. ``due`` sets event timers, each of which tells the one before it.
    ``of_windows`` is the method by which a window's function asks for a state besides (PyFlink: ``window_state``,
    ``global_state``).
    """

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
    kept: tuple[State, ...] = ()
    of_windows: str | None = None
    timers: bool = False
    due: bool = False
    chaining: str | None = None
    renamed: bool = False
    untyped: bool = False
    side_output: bool = False
    turned: bool = False
    before: tuple[Step, ...] = ()
    behind: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    sink_uid: str | None = None
    compaction: str | None = None
    rolling: str | None = None
    out: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The beginnings of the lines that it prints."""
        if self.kind in ("keyed print", "files"):
            return ()
        if self.kind in ("window", "count window", "window all", "reduce"):
            return (f"{self.label}.contents", *([f"{self.label}.kept"] if self._asks_in_windows else []))
        due = [f"{self.label}.due"] if self.due and self.kind == "process" else []
        kept = self.kept if self.kind == "keyed broadcast" else ()
        return (*(f"{self.label}.{state.label}" for state in (*self.states, *kept)), *due)

    @property
    def _asks_in_windows(self) -> bool:
        return self.of_windows is not None and self.kind in ("window", "count window") and self.function == "process"

    @property
    def _class(self) -> str:
        return f"{self.label.title()}{'Another' if self.renamed else ''}Function"

    def classes(self) -> str:
        """The classes of its functions."""
        open = indent("\n".join(state.declare() for state in self.states) or "pass", " " * 8)
        use = "\n".join(state.use(self.label) for state in self.states) or "yield from ()"
        v = f"v = (abs(n) % 10**6 * 10 + {self.digit}) * (1 if n > 0 else -1)"
        work = f"ctx_key = ctx.get_current_key()\n{v}\n{use}"
        if self.timers:
            due = "ctx.timer_service().current_processing_time() + 3600000"
            work = f"ctx.timer_service().register_processing_time_timer({due})\n{work}"
        name = self._class
        head = f"class {name}({{}}):\n    def open(self, ctx):\n{open}\n\n"
        body = indent(work, " " * 8)
        timer = "\n    def on_timer(self, timestamp, ctx):\n        return []\n" if self.timers else ""
        if self.due and self.kind == "process":
            work = f"ctx.timer_service().register_event_time_timer(n + 150)\n{work}"
            body = indent(work, " " * 8)
            told = "after, now = timestamp * 10, time.time_ns() // 1000000"
            shown = f'line("{self.label}.due", ctx.get_current_key(), after - 30, after, now)'
            timer = f"\n    def on_timer(self, timestamp, ctx):\n        {told}\n        yield {shown}\n"
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
        opened, of_keys = "", "return []"
        if self.kept and self.kind == "keyed broadcast":
            declared = indent("\n".join(state.declare() for state in self.kept), " " * 8)
            opened = f"    def open(self, ctx):\n{declared}\n\n"
            uses = [state.use(self.label) for state in self.kept]
            of_keys = indent("\n".join(["ctx_key = ctx.get_current_key()", v, *uses]), " " * 8).lstrip()
        return (
            "\n".join(made)
            + f"\n\n\nclass {name}({base}):\n{opened}    def process_element(self, n, ctx):\n        {of_keys}\n\n"
            f"    def process_broadcast_element(self, n, ctx):\n{work}\n"
        )

    def _window(self, name: str, v: str) -> str:
        key = "0" if self.kind == "window all" else "key"
        if self.function in ("reduce and process", "aggregate and process"):
            given = "context, elements" if self.kind == "window all" else "key, context, elements"
            base = "ProcessAllWindowFunction" if self.kind == "window all" else "ProcessWindowFunction"
            shown = f"for t in elements:\n    {self._triple('yield')}"
            return f"class {name}({base}):\n    def process(self, {given}):\n{indent(shown, ' ' * 8)}\n"
        if self.function not in ("process", "apply"):
            return ""
        held = f"held = []\nfor n in elements:\n{indent(v, ' ' * 4)}\n    held.append(v)"
        work = f'{held}\nyield line("{self.label}.contents", {key}, held[:-1], held, n)'
        if self._asks_in_windows:
            state = f'context.{self.of_windows}().get_state(ValueStateDescriptor("state-kept", Types.LONG()))'
            shown = f'yield line("{self.label}.kept", key, before, v, n)'
            work = f"state = {state}\nbefore = state.value()\n{work}\nstate.update(v)\n{shown}"
        work = indent(work, " " * 8)
        of_all, of_key = ("All", "") if self.kind == "window all" else ("", "key, ")
        base, method, given = (
            (f"Process{of_all}WindowFunction", "process", f"{of_key}context, elements")
            if self.function == "process"
            else (f"{of_all}WindowFunction", "apply", f"{of_key}window, elements")
        )
        return f"class {name}({base}):\n    def {method}(self, {given}):\n{work}\n"

    def graph(self) -> str:
        """The statements that add it."""
        name, type = f"{self._class}()", "Types.STRING()"
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
        calls += f".{self.chaining}" if self.chaining else ""
        out = f"{self.label}.print()" + named(self.sink_uid) + self._as_many()
        if self.kind == "keyed print":
            return f"{stream}.key_by({of}).print()" + named(self.sink_uid)
        if self.kind == "files":
            settings = f"{ROLLING[self.rolling]}{OUT_FILES[self.out]}{COMPACTION[self.compaction]}"
            sink = f"FileSink.for_row_format('{OUTPUTS}', Encoder.simple_string_encoder()){settings}.build()"
            return f"{stream}.map(str, {type}).sink_to({sink})" + named(self.uid, self.name) + self._as_many()
        if self.kind in ("process", "map", "flat map"):
            typed = "" if self.untyped and not self.parallelism else f", {type}"  # else a step of another parallelism
            made = f"{stream}.key_by({of}).{self.kind.replace(' ', '_')}({name}{typed})"
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
        lines = f".map(lambda t: {self._triple()}, Types.STRING()){self._as_many()}"
        together = self.kind != "reduce" and self.function in ("reduce and process", "aggregate and process")
        folded = self.kind == "reduce" or self.function in ("reduce", "aggregate") or together
        of = self._keyed("t[0]" if folded else "n")
        if folded:
            stream = f"{stream}.map(lambda n: (n, -1, n), {triples})"
        elif self.element == "PICKLED":
            stream = f"{stream}.map(lambda n: n)"
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
            "aggregate and process": f"aggregate(LastTwo(), {name}, {triples}, Types.STRING())",
            "reduce and process": f"{reduced[:-1]}, {name}, Types.STRING())",
        }[self.function]
        return f"{stream}{window}.{function}{calls}" + (lines if folded and not together else "")

    def _triple(self, how: str = "") -> str:
        """The line of what a window folded."""
        tag = f"abs({{}}) % 10**6 * 10 + {self.digit}"
        before = f"None if t[1] == -1 else {tag.format('t[1]')}"
        key = "0" if self.kind == "window all" else "abs(t[0]) % 3"
        return f"{how} line('{self.label}.contents', {key}, {before}, {tag.format('t[2]')}, t[2])".strip()


OF_FILES = ("files", "monitored", "hybrid", "text")
"""Kinds of sources that read files: those that are there, with what comes in besides, some before others, or with the method
of PyFlink 1.20."""


class Source(Struct, frozen=True):
    """A source of numbers from ``first`` on; numbers that are another source's become negative.

    A ``sequence``, a ``list`` of them, or one of OF_FILES, which reads those that ``paths`` means (see PATHS), as lines of
    ``format``, and looks for more each ``interval`` milliseconds. ``after`` is what stands between the source and what slows it
    down. A ``text`` is short: a job does not stop before that is read to its end.
    """

    label: str
    first: int
    uid: str | None
    slow_uid: str | None
    last_of: int = 10_000_000
    kind: str = "sequence"
    calls: str = ""
    name: str | None = None
    paths: str = "all"
    format: str = "text"
    interval: int = 200
    after: str = ""

    @property
    def ends(self) -> bool:
        """Whether it has ended when the savepoint is taken."""
        return self.kind in ("list", "text") or (self.kind == "files" and self.paths in ("brief", "named"))

    def graph(self) -> str:
        """The statement that makes its stream."""
        low, high = self.first, self.first + 10_000_000
        return (
            f"{self.label} = {self._made()}{named(self.uid)}{self.after}"
            f".map(lambda n: slow(n, {low}, {high}), Types.LONG()){named(self.slow_uid)}{self.calls}"
        )

    def _made(self) -> str:
        numbers, folder = f"{self.first}, {self.first + self.last_of}", f"{INPUTS}/{self.label}"
        if self.kind == "list":
            return f"env.from_collection(list(range({numbers})), Types.LONG())"
        if self.kind == "text":
            return f'env.read_text_file("{folder}{PATHS["brief"]}")'
        made = {
            "sequence": f"NumberSequenceSource({self.first}, {self.first + self.last_of - 1})",
            "files": self._of_files(self.paths),
            "monitored": self._of_files(self.paths, self.interval),
            "hybrid": f"HybridSource.builder({self._of_files('brief')})"
            f".add_source({self._of_files('late', self.interval)}).build()",
        }[self.kind]
        type = ", Types.STRING()" if self.kind == "hybrid" else ""
        return f'env.from_source({made}, WatermarkStrategy.no_watermarks(), "{self.name or self.label}"{type})'

    def _of_files(self, paths: str, interval: int | None = None) -> str:
        folder = f"{INPUTS}/{self.label}"
        named = [f'"{folder}{PATHS[paths]}"', *([f'"{folder}-more"'] if paths == "wider" else [])]
        format = "NUMBERS" if self.format == "csv" and self.kind != "hybrid" else "StreamFormat.text_line_format()"
        watched = f".monitor_continuously(Duration.of_millis({interval}))" if interval else ""
        return f"FileSource.for_record_stream_format({format}, {', '.join(named)}){watched}.build()"

    def inputs(self) -> dict[str, tuple[int, int]]:
        """The files that it may read, by path: their first number, and how many they have."""
        if self.kind not in OF_FILES:
            return {}
        of = {**FILES, **{f"../{self.label}-more/{name}": of for name, of in MORE.items()}}
        return {
            f"{INPUTS}/{self.label}/{name}".replace(f"{self.label}/../", ""): (self.first + part * PART, count)
            for name, (part, count) in of.items()
        }


class Job(Struct, frozen=True):
    """A version of a job, for a minor version of PyFlink. The numbers of the first source go through the trunk; operators
    branch off it."""

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
    flink: str = "2.3"

    @property
    def inputs(self) -> dict[str, tuple[int, int]]:
        """The files that its sources may read, by path: their first number, and how many they have."""
        return {path: of for source in self.sources for path, of in source.inputs().items()}

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
        besides = ASYNC if any(step.kind in ASKING for step in steps) else ""
        besides += CSV if any(source.format == "csv" and source.kind in OF_FILES for source in self.sources) else ""
        return (
            f'{HEAD}{besides}\n{SLOW}\n\n{classes}\n\ndef main():\n{main}\n\n\nif __name__ == "__main__":\n    main()\n'
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
