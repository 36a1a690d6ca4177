"""The pairs of programs in Java."""

from __future__ import annotations

from tests.compat.java_pairs.model import IMPORTS, OK, WRONG, JavaPair

PARTS = f"""package pairs;
{IMPORTS}
/** What the programs are made of. */
public class Parts {{
  static SingleOutputStreamOperator<Long> longs(StreamExecutionEnvironment env, String name) {{
    return env.fromSource(new NumberSequenceSource(0, 9), WatermarkStrategy.noWatermarks(), name);
  }}
  static void end(SingleOutputStreamOperator<?> stream) {{ stream.sinkTo((DiscardingSink) new DiscardingSink<>()); }}
  public static class Mod implements KeySelector<Long, Long> {{
    final long m;
    Mod(long m) {{ this.m = m; }}
    public Long getKey(Long v) {{ return v % m; }}
  }}
  public static class Count extends KeyedProcessFunction<Long, Long, Long> {{
    final String label;
    transient ValueState<Long> n;
    Count(String label) {{ this.label = label; }}
    public void open(OpenContext c) {{ n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }}
    public void processElement(Long v, Context c, Collector<Long> out) throws Exception {{
      n.update(n.value() == null ? 1 : n.value() + 1);
      out.collect(label.length() + n.value());
    }}
  }}
  public static class Sum implements AggregateFunction<Long, Long, Long> {{
    public Long createAccumulator() {{ return 0L; }}
    public Long add(Long v, Long a) {{ return v + a; }}
    public Long getResult(Long a) {{ return a; }}
    public Long merge(Long a, Long b) {{ return a + b; }}
  }}
  public static class Product implements AggregateFunction<Long, Long, Long> {{
    public Long createAccumulator() {{ return 1L; }}
    public Long add(Long v, Long a) {{ return v * a; }}
    public Long getResult(Long a) {{ return a; }}
    public Long merge(Long a, Long b) {{ return a * b; }}
  }}
  public static class All<W extends Window> extends ProcessWindowFunction<Long, Long, Long, W> {{
    public void process(Long key, Context c, Iterable<Long> in, Collector<Long> out) {{ for (Long v : in) out.collect(v); }}
  }}
  public static class Sides extends KeyedCoProcessFunction<Long, Long, Long, Long> {{
    transient ValueState<Long> left, right;
    public void open(OpenContext c) {{
      left = getRuntimeContext().getState(new ValueStateDescriptor<>("left", Long.class));
      right = getRuntimeContext().getState(new ValueStateDescriptor<>("right", Long.class));
    }}
    public void processElement1(Long v, Context c, Collector<Long> out) throws Exception {{ left.update(v); }}
    public void processElement2(Long v, Context c, Collector<Long> out) throws Exception {{ right.update(v); }}
  }}
  public static class Timed extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<Long> n;
    public void open(OpenContext c) {{ n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }}
    public void processElement(Long v, Context c, Collector<Long> out) throws Exception {{
      n.update(v);
      c.timerService().registerEventTimeTimer(v + 1000);
    }}
    public void onTimer(long t, OnTimerContext c, Collector<Long> out) throws Exception {{ out.collect(n.value()); }}
  }}
  public static class Untimed extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<Long> n;
    public void open(OpenContext c) {{ n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }}
    public void processElement(Long v, Context c, Collector<Long> out) throws Exception {{ n.update(v); }}
    public void onTimer(long t, OnTimerContext c, Collector<Long> out) throws Exception {{ out.collect(n.value()); }}
  }}
  public static class Late {{
    static void ask(TimerService timers, long v) {{ timers.registerEventTimeTimer(v + 1000); }}
  }}
  public static class TimedElsewhere extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<Long> n;
    public void open(OpenContext c) {{ n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }}
    public void processElement(Long v, Context c, Collector<Long> out) throws Exception {{
      n.update(v);
      Late.ask(c.timerService(), v);
    }}
    public void onTimer(long t, OnTimerContext c, Collector<Long> out) throws Exception {{ out.collect(n.value()); }}
  }}
  public static class Flat extends RichFlatMapFunction<Long, Long> {{
    transient ValueState<Long> n;
    public void open(OpenContext c) {{ n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }}
    public void flatMap(Long v, Collector<Long> out) throws Exception {{ n.update(v); }}
  }}
  public static class Own extends AbstractStreamOperator<Long>
      implements OneInputStreamOperator<Long, Long>, Triggerable<Long, VoidNamespace> {{
    final String service;
    transient InternalTimerService<VoidNamespace> timers;
    transient ValueState<Long> n;
    Own(String service) {{ this.service = service; }}
    public void open() throws Exception {{
      super.open();
      timers = getInternalTimerService(service, VoidNamespaceSerializer.INSTANCE, this);
      n = getPartitionedState(new ValueStateDescriptor<>("n", Long.class));
    }}
    public void processElement(StreamRecord<Long> r) throws Exception {{
      n.update(r.getValue());
      timers.registerEventTimeTimer(VoidNamespace.INSTANCE, r.getValue());
    }}
    public void onEventTime(InternalTimer<Long, VoidNamespace> t) {{}}
    public void onProcessingTime(InternalTimer<Long, VoidNamespace> t) {{}}
  }}
  static Pattern<Long, Long> pattern(String first, String second, long limit) {{
    return Pattern.<Long>begin(first).where(SimpleCondition.of(v -> v < 3))
      .followedBy(second).where(SimpleCondition.of(v -> v > limit));
  }}
  public static class Matches extends PatternProcessFunction<Long, Long> {{
    public void processMatch(Map<String, List<Long>> m, Context c, Collector<Long> out) {{ out.collect(1L); }}
  }}
  public static class Gap implements SessionWindowTimeGapExtractor<Long> {{
    final long gap;
    Gap(long gap) {{ this.gap = gap; }}
    public long extract(Long v) {{ return gap; }}
  }}
  public static class Ask extends RichAsyncFunction<Long, Long> {{
    public void asyncInvoke(Long v, ResultFuture<Long> f) {{ f.complete(List.of(v)); }}
  }}
  public static class AskOthers extends RichAsyncFunction<Long, Long> {{
    public void asyncInvoke(Long v, ResultFuture<Long> f) {{ f.complete(List.of(v, v)); }}
  }}
}}
"""

_ASYNC = """public static class Asks extends KeyedProcessFunction<Long, Long, Long> {
  transient org.apache.flink.api.common.state.v2.ValueState<Long> n;
  public void open(OpenContext c) {
    n = ((StreamingRuntimeContext) getRuntimeContext())
      .getValueState(new org.apache.flink.api.common.state.v2.ValueStateDescriptor<>("n", Types.LONG));
  }
  public void processElement(Long v, Context c, Collector<Long> out) { n.asyncUpdate(v); } }"""
_TWO = """  end(s.keyBy(new Mod({0})).process(new Count("{1}")));
  end(s.keyBy(new Mod({2})).process(new Count("{3}")));"""
_TWO_SOURCES = """  end(longs(env, "{0}").keyBy(new Mod(3)).process(new Count("n")));
  end(longs(env, "{1}").keyBy(new Mod(3)).process(new Count("n")));"""
_TWO_UIDS = """  end(s.keyBy(new Mod(3)).process(new Count("n")).name("clicks").uid("{0}"));
  end(s.keyBy(new Mod(3)).process(new Timed()).name("buys").uid("{1}"));"""
_AT = """  end(s.keyBy(new Mod(3)).process(new {0}()));"""
_KEYED = """  end(s.keyBy(new Mod(3)).process(new {0}()).uid("f"));"""
_KEY = """  end(s.keyBy({0}).process(new Count("n")).uid("f"));"""
_WINDOW = """  end(s.keyBy(new Mod(3)).window({0}).{1}.uid("w"));"""
_SUM = "aggregate(new Sum())"
_TUMBLING = "TumblingEventTimeWindows.of(Duration.ofMillis(1000))"
_TWO_STREAMS = """  DataStream<Long> x = longs(env, "x").uid("x").map(v -> v).returns(Types.LONG).uid("xm");
  DataStream<Long> y = longs(env, "y").uid("y").map(v -> v).returns(Types.LONG).uid("ym");
"""
_CONNECT = _TWO_STREAMS + """  end({0}.connect({1}).keyBy(new Mod(3), new Mod(3)).process(new {2}()).uid("co"));"""
_INTERVAL = (
    _TWO_STREAMS
    + """  end({0}.keyBy(new Mod(3)).intervalJoin({1}.keyBy(new Mod(3)))
    .between(Duration.ofMillis(-{2}), Duration.ofMillis(100)).process(new Meet()).uid("j"));"""
)
_MEET = """public static class Meet extends ProcessJoinFunction<Long, Long, Long> {
  public void processElement(Long a, Long b, Context c, Collector<Long> out) { out.collect(a + b); } }"""
_JOIN = (
    _TWO_STREAMS
    + """  end((SingleOutputStreamOperator<Long>) {0}.join({1}).where(new Mod(3)).equalTo(new Mod(3))
    .window(TumblingEventTimeWindows.of(Duration.ofMillis(1000)))
    .apply((JoinFunction<Long, Long, Long>) (a, b) -> a + b, Types.LONG).uid("j"));"""
)
_COGROUP = (
    _TWO_STREAMS
    + """  end((SingleOutputStreamOperator<Long>) {0}.coGroup({1}).where(new Mod(3)).equalTo(new Mod(3))
    .window(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).apply(new Groups()).uid("j"));"""
)
_GROUPS = """public static class Groups implements CoGroupFunction<Long, Long, Long> {
  public void coGroup(Iterable<Long> a, Iterable<Long> b, Collector<Long> out) { out.collect(1L); } }"""
_PATTERN = """  end(CEP.pattern(s.keyBy(new Mod(3)), {0}).process(new Matches()).uid("cep"));"""
_STATES = """public static class F extends KeyedProcessFunction<Long, Long, Long> {{
  transient ValueState<Long> {0}, {1};
  public void open(OpenContext c) {{
    {0} = getRuntimeContext().getState(new ValueStateDescriptor<>("{2}", Long.class));
    {1} = getRuntimeContext().getState(new ValueStateDescriptor<>("{3}", Long.class));
  }}
  public void processElement(Long v, Context c, Collector<Long> out) throws Exception {{
    {0}.update(v); {1}.update(v * {4}); out.collect({0}.value());
  }} }}"""
_ONE_STATE = """public static class F extends KeyedProcessFunction<Long, Long, Long> {
  transient ValueState<Long> small;
  public void open(OpenContext c) { small = getRuntimeContext().getState(new ValueStateDescriptor<>("x", Long.class)); }
  public void processElement(Long v, Context c, Collector<Long> out) throws Exception { small.update(v); } }"""
_NO_STATE = """public static class F extends KeyedProcessFunction<Long, Long, Long> {
  public void processElement(Long v, Context c, Collector<Long> out) { out.collect(v); } }"""
_CROSSED = """public static class Crossed extends KeyedCoProcessFunction<Long, Long, Long, Long> {
  transient ValueState<Long> left, right;
  public void open(OpenContext c) {
    left = getRuntimeContext().getState(new ValueStateDescriptor<>("left", Long.class));
    right = getRuntimeContext().getState(new ValueStateDescriptor<>("right", Long.class));
  }
  public void processElement1(Long v, Context c, Collector<Long> out) throws Exception { right.update(v); }
  public void processElement2(Long v, Context c, Collector<Long> out) throws Exception { left.update(v); } }
public static class Both extends KeyedCoProcessFunction<Long, Long, Long, Long> {
  transient ValueState<Long> seen;
  public void open(OpenContext c) { seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Long.class)); }
  public void processElement1(Long v, Context c, Collector<Long> out) throws Exception { add(v); }
  public void processElement2(Long v, Context c, Collector<Long> out) throws Exception { add(-v); }
  void add(Long v) throws Exception { seen.update(v); } }"""


def _window(name: str, old: str, new: str, verdict: str = OK, *rules: str, notes: tuple[str, ...] = ()) -> JavaPair:
    return JavaPair(name=name, old=old, new=new, verdict=verdict, rules=rules, notes=notes)


_GENERATED = """  DataStream<Long> x = longs(env, "{0}");
  DataStream<Long> y = longs(env, "{1}");
  end(x.connect(y).keyBy(new Mod(3), new Mod(3)).process(new Sides()));"""
_LEGACY = (
    """  end((SingleOutputStreamOperator<Long>) env.addSource(new Old()).uid("old").map(v -> v).returns(Types.LONG));"""
)
_LEGACY_SOURCE = """public static class Old implements SourceFunction<Long>, CheckpointedFunction {{
  transient ListState<Long> at;
  public void run(SourceContext<Long> c) {{}}
  public void cancel() {{}}
  public void snapshotState(FunctionSnapshotContext c) {{}}
  public void initializeState(FunctionInitializationContext c) throws Exception {{
    at = c.getOperatorStateStore().getListState(new ListStateDescriptor<>("{0}", Long.class));
  }} }}"""
_SIDE = """  SingleOutputStreamOperator<Long> f = s.keyBy(new Mod(3)).process(new Count("n")).uid("f");
  end(f);
"""
_RULES = """  BroadcastStream<Long> rules = longs(env, "rules").uid("rules")
    .broadcast(new MapStateDescriptor<>("{0}", Long.class, Long.class));
  end(s.keyBy(new Mod(3)).connect(rules).process(new Ruled()).uid("f"));"""
_RULED = """public static class Ruled extends KeyedBroadcastProcessFunction<Long, Long, Long, Long> {
  transient ValueState<Long> n;
  public void open(OpenContext c) { n = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Long.class)); }
  public void processElement(Long v, ReadOnlyContext c, Collector<Long> out) throws Exception { n.update(v); }
  public void processBroadcastElement(Long v, Context c, Collector<Long> out) { out.collect(v); } }"""

IDENTITY = [
    JavaPair(
        name="branches_swapped",
        old=_TWO.format(3, "a", 3, "b"),
        new=_TWO.format(3, "b", 3, "a"),
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(name="branches_made_otherwise", old=_TWO.format(3, "a", 3, "b"), new=_TWO.format(3, "c", 3, "b")),
    JavaPair(
        name="branches_swapped_by_key",
        old=_TWO.format(3, "a", 5, "a"),
        new=_TWO.format(5, "a", 3, "a"),
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(
        name="branches_swapped_by_source",
        old=_TWO_SOURCES.format("clicks", "buys"),
        new=_TWO_SOURCES.format("buys", "clicks"),
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(
        name="uids_swapped",
        old=_TWO_UIDS.format("a", "b"),
        new=_TWO_UIDS.format("b", "a"),
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(name="uids_kept", old=_TWO_UIDS.format("a", "b"), new=_TWO_UIDS.format("a", "b")),
    JavaPair(
        name="uids_kept_names_swapped",
        old=_TWO_UIDS.format("a", "b"),
        new=_TWO_UIDS.format("a", "b").replace("clicks", "x").replace("buys", "clicks").replace('"x"', '"buys"'),
    ),
    JavaPair(name="function_replaced", old=_AT.format("Timed"), new=_AT.format("TimedElsewhere"), rules=("CMP115",)),
    JavaPair(name="function_replaced_under_a_uid", old=_KEYED.format("Timed"), new=_KEYED.format("TimedElsewhere")),
    JavaPair(
        name="class_renamed",
        old=_AT.format("F"),
        new=_AT.format("G"),
        old_beside=_ONE_STATE.replace("public static class F", "class F"),
        new_beside=_ONE_STATE.replace("public static class F", "class G"),
    ),
    JavaPair(
        name="renamed_and_made_otherwise",
        old='  end(s.keyBy(new Mod(3)).process(new Count("a")).name("clicks"));',
        new='  end(s.keyBy(new Mod(3)).process(new Count("b")).name("buys"));',
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(
        name="renamed_only",
        old='  end(s.keyBy(new Mod(3)).process(new Count("a")).name("clicks"));',
        new='  end(s.keyBy(new Mod(3)).process(new Count("a")).name("buys"));',
    ),
]

INPUTS = [
    JavaPair(
        name="connect_exchanged",
        old=_CONNECT.format("x", "y", "Sides"),
        new=_CONNECT.format("y", "x", "Sides"),
        verdict=WRONG,
        rules=("CMP113",),
    ),
    JavaPair(
        name="connect_kept",
        old=_CONNECT.format("x", "y", "Sides"),
        new=_CONNECT.format('x.map(v -> v + 1).returns(Types.LONG).uid("more")', "y", "Sides"),
        rules=("CMP204",),  # both sources end, and one may do so first
    ),
    JavaPair(
        name="connect_exchanged_with_the_code",
        old=_CONNECT.format("x", "y", "Sides"),
        new=_CONNECT.format("y", "x", "Crossed"),
        classes=_CROSSED,
    ),
    JavaPair(
        name="connect_exchanged_over_one_state",
        old=_CONNECT.format("x", "y", "Both"),
        new=_CONNECT.format("y", "x", "Both"),
        classes=_CROSSED,
        rules=("CMP113",),
    ),
    JavaPair(
        name="interval_join_exchanged",
        old=_INTERVAL.format("x", "y", 100),
        new=_INTERVAL.format("y", "x", 100),
        classes=_MEET,
        verdict=WRONG,
        rules=("CMP113",),
    ),
    JavaPair(
        name="interval_join_wider",
        old=_INTERVAL.format("x", "y", 100),
        new=_INTERVAL.format("x", "y", 200),
        classes=_MEET,
        rules=("CMP426",),
    ),
    JavaPair(
        name="interval_join_kept",
        old=_INTERVAL.format("x", "y", 100),
        new=_INTERVAL.format("x", "y", 100),
        classes=_MEET,
    ),
    JavaPair(
        name="window_join_exchanged",
        old=_JOIN.format("x", "y"),
        new=_JOIN.format("y", "x"),
        verdict=WRONG,
        rules=("CMP113",),
    ),
    JavaPair(name="window_join_kept", old=_JOIN.format("x", "y"), new=_JOIN.format("x", "y")),
    JavaPair(
        name="cogroup_exchanged",
        old=_COGROUP.format("x", "y"),
        new=_COGROUP.format("y", "x"),
        classes=_GROUPS,
        verdict=WRONG,
        rules=("CMP113",),
    ),
    JavaPair(
        name="union_exchanged",
        old=_TWO_STREAMS + '  end(x.union(y).keyBy(new Mod(3)).process(new Count("n")).uid("f"));',
        new=_TWO_STREAMS + '  end(y.union(x).keyBy(new Mod(3)).process(new Count("n")).uid("f"));',
    ),
    JavaPair(
        name="async_function_replaced",
        old='  end(AsyncDataStream.orderedWait(s, new Ask(), 1, java.util.concurrent.TimeUnit.SECONDS).uid("ask"));',
        new='  end(AsyncDataStream.orderedWait(s, new AskOthers(), 1, java.util.concurrent.TimeUnit.SECONDS).uid("ask"));',
    ),
]

MORE = [
    JavaPair(
        name="everything_exchanged_by_generated_ids",
        old=_GENERATED.format("a", "b"),
        new=_GENERATED.format("b", "a"),
        verdict=WRONG,
        rules=("CMP103", "CMP113"),
    ),
    JavaPair(
        name="legacy_source_with_another_name_of_its_state",
        old=_LEGACY,
        new=_LEGACY,
        old_classes=_LEGACY_SOURCE.format("offset"),
        new_classes=_LEGACY_SOURCE.format("position"),
        verdict=WRONG,
        rules=("CMP402",),
    ),
    JavaPair(
        name="legacy_source_kept",
        old=_LEGACY,
        new=_LEGACY,
        classes=_LEGACY_SOURCE.format("offset"),
    ),
    JavaPair(
        name="side_output_added",
        old=_SIDE,
        new=_SIDE
        + '  end((SingleOutputStreamOperator<Long>) f.getSideOutput(new org.apache.flink.util.OutputTag<Long>("late") {})'
        ".map(v -> v).returns(Types.LONG));",
    ),
    JavaPair(
        name="broadcast_state_renamed",
        old=_RULES.format("rules"),
        new=_RULES.format("settings"),
        classes=_RULED,
        verdict=WRONG,
        rules=("CMP402",),
    ),
    JavaPair(name="broadcast_state_kept", old=_RULES.format("rules"), new=_RULES.format("rules"), classes=_RULED),
    JavaPair(
        name="window_of_all_records",
        old='  end(s.windowAll(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).aggregate(new Sum()).uid("w"));',
        new='  end(s.windowAll(TumblingEventTimeWindows.of(Duration.ofMillis(500))).aggregate(new Sum()).uid("w"));',
        rules=("CMP407",),
    ),
    JavaPair(
        name="windows_swapped_by_what_they_fold",
        old="""  end(s.keyBy(new Mod(3)).window(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).aggregate(new Sum()));
  end(s.keyBy(new Mod(3)).window(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).aggregate(new Product()));""",
        new="""  end(s.keyBy(new Mod(3)).window(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).aggregate(new Product()));
  end(s.keyBy(new Mod(3)).window(TumblingEventTimeWindows.of(Duration.ofMillis(1000))).aggregate(new Sum()));""",
        verdict=WRONG,
        rules=("CMP103",),
    ),
    JavaPair(
        name="connect_of_a_union_exchanged",
        old=_TWO_STREAMS
        + '  end(x.union(longs(env, "z").uid("z")).connect(y).keyBy(new Mod(3), new Mod(3)).process(new Sides()).uid("co"));',
        new=_TWO_STREAMS
        + '  end(y.connect(x.union(longs(env, "z").uid("z"))).keyBy(new Mod(3), new Mod(3)).process(new Sides()).uid("co"));',
        verdict=WRONG,
        rules=("CMP113",),
    ),
]

_COUNT_UID = '  end(s.keyBy(new Mod(3)).process(new Count("a")).{});'
_DRAWN = {
    "uuid": ('uid("count-" + UUID.randomUUID())', ""),
    "clock_in_a_field": ("uid(RUN)", 'static final String RUN = "run " + System.currentTimeMillis();'),
    "random_by_a_helper": (
        "uid(uid(5))",
        "static String uid(int size) { Random random = new Random(); "
        "return new StringBuilder().append(size * random.nextLong()).toString(); }",
    ),
    "date": ('uid(String.valueOf(java.time.LocalDate.now()) + "x")', ""),
}
DRAWN = [
    *(
        JavaPair(
            name=f"uid_drawn_{name}",
            old=_COUNT_UID.format(call),
            new=_COUNT_UID.format(call),
            classes=classes,
            verdict=WRONG,
            rules=("CMP108",) if name == "date" else ("CMP102", "CMP108"),
        )
        for name, (call, classes) in _DRAWN.items()
    ),
    JavaPair(
        name="uid_drawn_in_a_method_that_sets_it",
        old='  end(named(s.keyBy(new Mod(3)).process(new Count("a")), "n" + System.nanoTime()));',
        new='  end(named(s.keyBy(new Mod(3)).process(new Count("a")), "n" + System.nanoTime()));',
        classes="static <T> SingleOutputStreamOperator<T> named(SingleOutputStreamOperator<T> of, String id) "
        "{ return of.uid(id); }",
        verdict=WRONG,
        rules=("CMP102", "CMP108"),
    ),
    JavaPair(
        name="hash_drawn",
        old=_COUNT_UID.format('setUidHash(UUID.randomUUID().toString().replace("-", ""))'),
        new=_COUNT_UID.format('setUidHash(UUID.randomUUID().toString().replace("-", ""))'),
    ),
    JavaPair(
        name="uid_computed",
        old=_COUNT_UID.format('uid(new Random(7).nextInt(9) + "-" + name(3))'),
        new=_COUNT_UID.format('uid(new Random(7).nextInt(9) + "-" + name(3))'),
        classes='static String name(int n) { return "count " + n; }',
    ),
    JavaPair(
        name="uid_beside_what_is_drawn",
        old='  long now = System.nanoTime(); String id = "count " + s.getParallelism();\n'
        + _COUNT_UID.format("name(id + now).uid(id)"),
        new='  long now = System.nanoTime(); String id = "count " + s.getParallelism();\n'
        + _COUNT_UID.format("name(id + now).uid(id)"),
    ),
]

_TABLE = """
  org.apache.flink.table.api.bridge.java.StreamTableEnvironment t =
      org.apache.flink.table.api.bridge.java.StreamTableEnvironment.create(env);
  t.createTemporaryView("numbers", s);
  t.createTemporarySystemFunction("fold", {}.class);
  t.createTemporarySystemFunction("twice", Twice.class);
  t.toChangelogStream(t.sqlQuery("SELECT f0 / 3, fold(twice(f0)) FROM numbers GROUP BY f0 / 3"))
      .sinkTo((DiscardingSink) new DiscardingSink<>()).uid("end");"""
_FOLD = """
  public static class Acc {{ public long total; }}
  public static class {0} extends org.apache.flink.table.functions.AggregateFunction<Long, Acc> {{
    public Acc createAccumulator() {{ return new Acc(); }}
    public void accumulate(Acc acc, Long v) {{ acc.total = {1}; }}
    public Long getValue(Acc acc) {{ return acc.total; }}
  }}
  public static class Twice extends org.apache.flink.table.functions.ScalarFunction {{
    public Long eval(Long v) {{ return {2}; }}
  }}
"""


def _query(name: str, old: tuple[str, str, str], new: tuple[str, str, str], *rules: str, verdict: str = OK) -> JavaPair:
    return JavaPair(
        name=name,
        old=_TABLE.format(old[0]),
        new=_TABLE.format(new[0]),
        old_classes=_FOLD.format(*old),
        new_classes=_FOLD.format(*new),
        verdict=verdict,
        rules=rules,
    )


_SUMS = ("Fold", "acc.total + v", "2 * v")
QUERIES = [
    _query("functions_of_a_query_kept", _SUMS, _SUMS),
    _query("aggregate_function_changed", _SUMS, ("Fold", "Math.max(acc.total, v)", "2 * v"), "CMP714"),
    _query("scalar_function_before_an_aggregate_changed", _SUMS, ("Fold", "acc.total + v", "3 * v"), "CMP714"),
    _query("aggregate_function_replaced", _SUMS, ("Other", "acc.total * v", "2 * v"), "CMP714"),
    _query("aggregate_function_in_a_renamed_class", _SUMS, ("Other", *_SUMS[1:])),
]

STATES = [
    JavaPair(
        name="state_names_exchanged",
        old=_KEYED.format("F"),
        new=_KEYED.format("F"),
        old_classes=_STATES.format("small", "big", "x", "y", 1000),
        new_classes=_STATES.format("small", "big", "y", "x", 1000),
        verdict=WRONG,
        rules=("CMP423",),
    ),
    JavaPair(
        name="state_names_exchanged_in_new_code",
        old=_KEYED.format("F"),
        new=_KEYED.format("F"),
        old_classes=_STATES.format("small", "big", "x", "y", 1000),
        new_classes=_STATES.format("small", "big", "y", "x", 10),
        rules=("CMP423",),
    ),
    JavaPair(
        name="fields_renamed",
        old=_KEYED.format("F"),
        new=_KEYED.format("F"),
        old_classes=_STATES.format("small", "big", "x", "y", 1000),
        new_classes=_STATES.format("big", "small", "x", "y", 1000),
    ),
    JavaPair(
        name="only_state_dropped",
        old=_KEYED.format("F"),
        new=_KEYED.format("F"),
        old_classes=_ONE_STATE,
        new_classes=_NO_STATE,
        verdict=WRONG,
        rules=("CMP401",),
    ),
    JavaPair(
        name="one_of_two_states_dropped",
        old=_KEYED.format("F"),
        new=_KEYED.format("F"),
        old_classes=_STATES.format("small", "big", "x", "y", 1000),
        new_classes=_ONE_STATE,
        rules=("CMP401",),
    ),
    JavaPair(
        name="key_of_a_lambda_that_moved",
        old=_KEY.format("v -> v % 3"),
        new='  end(s.filter(v -> v > 7).uid("g"));\n' + _KEY.format("v -> v % 3"),
    ),
    JavaPair(
        name="asynchronous_state",
        old=_KEYED.format("Untimed"),
        new='  end(s.keyBy(new Mod(3)).enableAsyncState().process(new Asks()).uid("f"));',
        new_classes=_ASYNC,
        rules=("CMP605",),
    ),
    JavaPair(name="state_as_before", old=_KEYED.format("Untimed"), new=_KEYED.format("Untimed")),
]

TIMERS = [
    JavaPair(name="timers_gone", old=_KEYED.format("Timed"), new=_KEYED.format("Untimed"), rules=("CMP412",)),
    JavaPair(name="timers_set_elsewhere", old=_KEYED.format("Timed"), new=_KEYED.format("TimedElsewhere")),
    JavaPair(
        name="no_timers_at_all",
        old=_KEYED.format("Timed"),
        new='  end(s.keyBy(new Mod(3)).flatMap(new Flat()).uid("f"));',
        rules=("CMP412",),
    ),
    JavaPair(
        name="flat_map_in_place_of_process",
        old=_KEYED.format("Untimed"),
        new='  end(s.keyBy(new Mod(3)).flatMap(new Flat()).uid("f"));',
    ),
    JavaPair(
        name="timer_service_renamed",
        old='  end(s.keyBy(new Mod(3)).transform("own", Types.LONG, new Own("a")).uid("f"));',
        new='  end(s.keyBy(new Mod(3)).transform("own", Types.LONG, new Own("b")).uid("f"));',
        rules=("CMP412",),
    ),
    JavaPair(
        name="timer_service_kept",
        old='  end(s.keyBy(new Mod(3)).transform("own", Types.LONG, new Own("a")).uid("f"));',
        new='  end(s.keyBy(new Mod(3)).transform("own operator", Types.LONG, new Own("a")).uid("f"));',
    ),
]

WINDOWS = [
    _window("windows_kept", _WINDOW.format(_TUMBLING, _SUM), _WINDOW.format(_TUMBLING, _SUM)),
    _window(
        "window_size",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING.replace("1000", "2000"), _SUM),
        OK,
        "CMP407",
    ),
    _window(
        "window_offset",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format("TumblingEventTimeWindows.of(Duration.ofMillis(1000), Duration.ofMillis(100))", _SUM),
        OK,
        "CMP407",
    ),
    _window(
        "tumbling_to_session",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format("EventTimeSessionWindows.withGap(Duration.ofMillis(1000))", _SUM),
        WRONG,
        "CMP407",
    ),
    _window(
        "session_gap_of_a_record",
        _WINDOW.format("EventTimeSessionWindows.withDynamicGap(new Gap(10))", _SUM),
        _WINDOW.format("EventTimeSessionWindows.withDynamicGap(new Gap(20))", _SUM),
        OK,
        "CMP407",
    ),
    _window(
        "session_gap_kept",
        _WINDOW.format("EventTimeSessionWindows.withDynamicGap(new Gap(10))", _SUM),
        _WINDOW.format("EventTimeSessionWindows.withDynamicGap(new Gap(10))", _SUM),
    ),
    _window(
        "reduce_to_aggregate",
        _WINDOW.format(_TUMBLING, "reduce((ReduceFunction<Long>) (a, b) -> a + b)"),
        _WINDOW.format(_TUMBLING, _SUM),
        WRONG,
        "CMP414",
        "CMP421",
    ),
    _window(
        "aggregate_to_process",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING, "process(new All<TimeWindow>())"),
        WRONG,
        "CMP410",
        "CMP414",
    ),
    _window(
        "aggregate_with_a_window_function",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING, "aggregate(new Sum(), new All<TimeWindow>())"),
    ),
    _window(
        "trigger_of_another_kind",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING, "trigger(ContinuousEventTimeTrigger.of(Duration.ofMillis(100)))." + _SUM),
        OK,
        "CMP424",
    ),
    _window(
        "trigger_interval",
        _WINDOW.format(_TUMBLING, "trigger(ContinuousEventTimeTrigger.of(Duration.ofMillis(100)))." + _SUM),
        _WINDOW.format(_TUMBLING, "trigger(ContinuousEventTimeTrigger.of(Duration.ofMillis(200)))." + _SUM),
        OK,
        "CMP424",
    ),
    _window(
        "default_trigger_written_down",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING, "trigger(EventTimeTrigger.create())." + _SUM),
    ),
    _window(
        "evictor_of_more",
        _WINDOW.format(_TUMBLING, "evictor(CountEvictor.of(5)).process(new All<TimeWindow>())"),
        _WINDOW.format(_TUMBLING, "evictor(CountEvictor.of(9)).process(new All<TimeWindow>())"),
        OK,
        "CMP424",
    ),
    _window(
        "more_lateness",
        _WINDOW.format(_TUMBLING, _SUM),
        _WINDOW.format(_TUMBLING, "allowedLateness(Duration.ofMillis(10))." + _SUM),
        OK,
        notes=("CMP424",),
    ),
    _window(
        "less_lateness",
        _WINDOW.format(_TUMBLING, "allowedLateness(Duration.ofMillis(10))." + _SUM),
        _WINDOW.format(_TUMBLING, _SUM),
    ),
    _window(
        "count_window_size",
        '  end(s.keyBy(new Mod(3)).countWindow(20).process(new All<GlobalWindow>()).uid("w"));',
        '  end(s.keyBy(new Mod(3)).countWindow(30).process(new All<GlobalWindow>()).uid("w"));',
        OK,
        "CMP424",
    ),
]

PATTERNS = [
    JavaPair(
        name="pattern_kept",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("a", "b", 5)'),
    ),
    JavaPair(
        name="first_stage_renamed",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("start", "b", 5)'),
        verdict=WRONG,
        rules=("CMP425",),
    ),
    JavaPair(
        name="second_stage_renamed",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("a", "c", 5)'),
        verdict=WRONG,
        rules=("CMP425",),
    ),
    JavaPair(
        name="condition_changed",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("a", "b", 6)'),
        rules=("CMP425",),
    ),
    JavaPair(
        name="stage_added",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("a", "b", 5).followedBy("c")'),
        rules=("CMP425",),
    ),
    JavaPair(
        name="within_added",
        old=_PATTERN.format('pattern("a", "b", 5)'),
        new=_PATTERN.format('pattern("a", "b", 5).within(Duration.ofSeconds(1))'),
        rules=("CMP425",),
    ),
]

_FILES = """  FileSource<String> lines = FileSource.forRecordStreamFormat(new TextLineInputFormat(), {0}){1}.build();
  end(env.fromSource(lines, WatermarkStrategy.noWatermarks(), "lines").uid("lines").map(String::length).uid("length"));
  end(s.keyBy(new Mod(3)).process(new Count("a")).uid("count"));"""
_IN, _IN_BOTH = 'new Path("/in")', 'new Path("/in"), new Path("/more")'
_LOOKING = ".monitorContinuously(Duration.ofSeconds(1))"
FILES = [
    JavaPair(
        name="files_read_once_and_looked_for",
        old=_FILES.format(_IN, ""),
        new=_FILES.format(_IN, _LOOKING),
        verdict=WRONG,
        rules=("CMP809",),
    ),
    JavaPair(name="files_looked_for_and_read_once", old=_FILES.format(_IN, _LOOKING), new=_FILES.format(_IN, "")),
    JavaPair(
        name="files_read_once_from_two_folders",
        old=_FILES.format(_IN, ""),
        new=_FILES.format(_IN_BOTH, ""),
        rules=("CMP810",),
    ),
    JavaPair(
        name="files_looked_for_in_two_folders",
        old=_FILES.format(_IN, _LOOKING),
        new=_FILES.format(_IN_BOTH, _LOOKING),
    ),
]

_COUNTED = 'end(s.map(v -> v).map(v -> v){}.keyBy(new Mod(3)).process(new Count("a")).map(v -> v));'
PARALLELISM = [
    JavaPair(name="map_in_one", old=_COUNTED.format(""), new=_COUNTED.format(".setParallelism(1)")),
    JavaPair(
        name="parallelism_given",
        old="env.setParallelism(1); " + _COUNTED.format(""),
        new="env.setParallelism(1); " + _COUNTED.format(".setParallelism(1)"),
    ),
]
"""What hangs on the parallelism that the cluster gives, and what does not."""

_KEPT = """public static class V {{
    public long id; {0}
    V(long id) {{ this.id = id; }}
  }}
  public static class Keep extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<V> v;
    public void open(OpenContext c) {{ v = getRuntimeContext().getState(new ValueStateDescriptor<>("v", V.class)); }}
    public void processElement(Long n, Context c, Collector<Long> out) throws Exception {{ v.update(new V(n)); }}
  }}"""
_KEEP = 'end(s.keyBy(new Mod(3)).process(new Keep()).uid("keep"));'
KRYO = [
    JavaPair(
        name=f"kryo_{name}",
        old=_KEEP,
        new=_KEEP,
        old_classes=_KEPT.format(old),
        new_classes=_KEPT.format(new),
        verdict=WRONG if rules else OK,
        rules=rules,
    )
    for name, old, new, rules in (
        ("list_of_others", "public List<String> xs;", "public LinkedList<Long> xs;", ("CMP415",)),
        ("list_of_anything", "public List<String> xs;", "public List<Object> xs;", ("CMP415",)),
        ("list_of_the_same", "public List<String> xs;", "public Collection<String> xs;", ()),
        ("list_of_some", "public List<Number> xs;", "public List<? extends Number> xs;", ()),
        ("int_to_long", "public int n; public Integer m;", "public long n; public Long m;", ()),
        ("short_to_long", "public short n;", "public long n;", ("CMP415",)),
    )
]
"""What Kryo writes of a class's fields: parts of a final type in angle brackets without their class, numbers in few bytes."""

_INSIDE = """public static class In {{ public long id; {0} public In() {{}} In(long id) {{ this.id = id; }} }}
  public static class V {{ public Optional<In> in = Optional.empty(); }}
  public static class Keep extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<{1}> v;
    public void open(OpenContext c) {{
      v = getRuntimeContext().getState(new ValueStateDescriptor<>("v", TypeInformation.of(new TypeHint<{1}>() {{}})));
    }}
    public void processElement(Long n, Context c, Collector<Long> out) throws Exception {{ {2} }}
  }}"""
_IN_FIELD, _ERASED = (
    ("V", "V v = new V(); v.in = Optional.of(new In(n));"),
    ("Optional<In>", "v.update(Optional.of(new In(n)));"),
)
_OF_TEXT = ("Optional<String>", 'v.update(Optional.of("s" + n));')
_CHANGED = "public String name;"
HELD = [
    JavaPair(
        name=f"held_{name}",
        old=_KEEP,
        new=_KEEP,
        old_classes=_INSIDE.format(old, *old_kept),
        new_classes=_INSIDE.format(new, *new_kept),
        verdict=verdict,
        rules=() if verdict == OK else ("CMP415",),
    )
    for name, old, old_kept, new, new_kept, verdict in (
        ("in_a_field", "", _IN_FIELD, _CHANGED, _IN_FIELD, WRONG),
        ("in_a_field_as_before", _CHANGED, _IN_FIELD, _CHANGED, _IN_FIELD, OK),
        ("without_a_type", "", _ERASED, _CHANGED, _ERASED, "unknown"),
        ("without_a_type_as_before", "", _ERASED, "", ("Optional<In>", "v.update(Optional.of(new In(n + 1)));"), OK),
        ("without_a_type_of_another_class", "", _ERASED, "", _OF_TEXT, "unknown"),
        ("text_without_a_type", "", _OF_TEXT, _CHANGED, _OF_TEXT, OK),
    )
]
"""What stands in an Optional: of a class that the type of a field tells, or that no type tells."""

_KEYED_RULES = """public static class K {{
    public long id; public long {0};
    public boolean equals(Object o) {{ return o instanceof K && ((K) o).id == id && ((K) o).{0} == {0}; }}
    public int hashCode() {{ return 7; }}
  }}
  public static class Ruled extends BroadcastProcessFunction<Long, Long, Long> {{
    public void processElement(Long v, ReadOnlyContext c, Collector<Long> out) {{ out.collect(v); }}
    public void processBroadcastElement(Long v, Context c, Collector<Long> out) {{ out.collect(v); }}
  }}"""
_BY_KEY = """  BroadcastStream<Long> rules = longs(env, "rules").uid("rules")
    .broadcast(new MapStateDescriptor<>("rules", TypeInformation.of(K.class), Types.LONG));
  end(s.connect(rules).process(new Ruled()).uid("f"));"""
BROADCAST_KEYS = [
    JavaPair(
        name=f"key_of_a_broadcast_map_{name}",
        old=_BY_KEY,
        new=_BY_KEY,
        old_classes=_KEYED_RULES.format("amount"),
        new_classes=_KEYED_RULES.format(new),
        verdict=WRONG if rules else OK,
        rules=rules,
    )
    for name, new, rules in (("as_before", "amount", ()), ("renamed", "total", ("CMP410", "CMP432")))
]
"""The keys of a broadcast map are converted as values are."""

_OWN = """public static class V {{ public long id; public long n; }}
  public static class Ser extends TypeSerializerSingleton<V> {{
    public boolean isImmutableType() {{ return false; }}
    public V createInstance() {{ return new V(); }}
    public V copy(V v) {{ V r = new V(); r.id = v.id; r.n = v.n; return r; }}
    public V copy(V v, V reuse) {{ return copy(v); }}
    public int getLength() {{ return -1; }}
    public void serialize(V v, DataOutputView out) throws IOException {{ {write} }}
    public V deserialize(DataInputView in) throws IOException {{ return read({version}, in); }}
    static V read(int version, DataInputView in) throws IOException {{
      V v = new V();
      if (version == 1) {{ {read_old} }} else {{ v.n = in.readLong(); v.id = in.readLong(); }}
      return v;
    }}
    public V deserialize(V reuse, DataInputView in) throws IOException {{ return deserialize(in); }}
    public void copy(DataInputView in, DataOutputView out) throws IOException {{ serialize(deserialize(in), out); }}
    public TypeSerializerSnapshot<V> snapshotConfiguration() {{ return new Snap(); }}
  }}
  public static class Old extends Ser {{
    public V deserialize(DataInputView in) throws IOException {{ return read(1, in); }}
  }}
  public static class Snap implements TypeSerializerSnapshot<V> {{
    int version = {version};
    public int getCurrentVersion() {{ return 1; }}
    public void writeSnapshot(DataOutputView out) throws IOException {{ out.writeInt({version}); }}
    public void readSnapshot(int v, DataInputView in, ClassLoader c) throws IOException {{ version = in.readInt(); }}
    public TypeSerializer<V> restoreSerializer() {{ return version == 1 ? new Old() : new Ser(); }}
    public TypeSerializerSchemaCompatibility<V> resolveSchemaCompatibility(TypeSerializerSnapshot<V> old) {{
      return ((Snap) old).version == version
        ? TypeSerializerSchemaCompatibility.compatibleAsIs()
        : TypeSerializerSchemaCompatibility.compatibleAfterMigration();
    }}
  }}
  public static class Info extends TypeInformation<V> {{
    public boolean isBasicType() {{ return false; }}
    public boolean isTupleType() {{ return false; }}
    public int getArity() {{ return 1; }}
    public int getTotalFields() {{ return 1; }}
    public Class<V> getTypeClass() {{ return V.class; }}
    public boolean isKeyType() {{ return false; }}
    public TypeSerializer<V> createSerializer(SerializerConfig c) {{ return new Ser(); }}
    public String toString() {{ return "Info"; }}
    public boolean equals(Object o) {{ return o instanceof Info; }}
    public int hashCode() {{ return 1; }}
    public boolean canEqual(Object o) {{ return o instanceof Info; }}
  }}
  public static class Keep extends KeyedProcessFunction<Long, Long, Long> {{
    transient ValueState<V> v;
    public void open(OpenContext c) {{ v = getRuntimeContext().getState(new ValueStateDescriptor<>("v", new Info())); }}
    public void processElement(Long n, Context c, Collector<Long> out) throws Exception {{ v.update(new V()); }}
  }}
  public static class Raw extends AbstractStreamOperator<Long> implements OneInputStreamOperator<Long, Long> {{
    final TypeInformation<V> info = new Info();
    final Map<Long, V> kept = new HashMap<>();
    protected boolean isUsingCustomRawKeyedState() {{ return true; }}
    public void snapshotState(StateSnapshotContext c) throws Exception {{
      KeyedStateCheckpointOutputStream out = c.getRawKeyedOperatorStateOutput();
      TypeSerializer<V> by = info.createSerializer(getExecutionConfig().getSerializerConfig());
      for (int group : out.getKeyGroupList()) {{
        out.startNewKeyGroup(group);
        for (V v : kept.values()) by.serialize(v, new DataOutputViewStreamWrapper(out));
      }}
    }}
    public void processElement(StreamRecord<Long> r) {{ kept.put(r.getValue(), new V()); }}
  }}"""
_OLD_WAY = "v.id = in.readLong(); v.n = in.readLong();"
_FIRST = {"version": 1, "write": "out.writeLong(v.id); out.writeLong(v.n);", "read_old": _OLD_WAY}
_SECOND = {"version": 2, "write": "out.writeLong(v.n); out.writeLong(v.id);"}
_RAW = 'end(s.keyBy(new Mod(3)).transform("raw", Types.LONG, new Raw()).uid("raw"));'
_SPLITS = """public static class Part implements SourceSplit {{
    public long at; public String file;
    public Part(long at, String file) {{ this.at = at; this.file = file; }}
    public String splitId() {{ return file; }}
  }}
  public static class Form implements SimpleVersionedSerializer<Part> {{
    public int getVersion() {{ return {version}; }}
    public byte[] serialize(Part p) {{ return (p.at + " " + p.file).getBytes(); }}
    public Part deserialize(int version, byte[] data) throws IOException {{
      {check}
      String[] told = new String(data).split(" ", 2);
      return new Part(Long.parseLong(told[0]), told[1]);
    }}
  }}
  public static class Nothing implements SimpleVersionedSerializer<Long> {{
    public int getVersion() {{ return 1; }}
    public byte[] serialize(Long v) {{ return new byte[0]; }}
    public Long deserialize(int version, byte[] data) {{ return 0L; }}
  }}
  public static class Reads implements Source<Long, Part, Long> {{
    public Boundedness getBoundedness() {{ return Boundedness.CONTINUOUS_UNBOUNDED; }}
    public SplitEnumerator<Part, Long> createEnumerator(SplitEnumeratorContext<Part> c) {{ return null; }}
    public SplitEnumerator<Part, Long> restoreEnumerator(SplitEnumeratorContext<Part> c, Long v) {{ return null; }}
    public SimpleVersionedSerializer<Part> getSplitSerializer() {{ return new Form(); }}
    public SimpleVersionedSerializer<Long> getEnumeratorCheckpointSerializer() {{ return new Nothing(); }}
    public SourceReader<Long, Part> createReader(SourceReaderContext c) {{ throw new IllegalStateException(); }}
  }}"""
_READ = 'end(env.fromSource(new Reads(), WatermarkStrategy.noWatermarks(), "own", Types.LONG).uid("own").map(v -> v));'
_OTHER_VERSION = ("CMP410",)
MADE_UP = [
    JavaPair(
        name="own_serializer_converts",
        old=_KEEP,
        new=_KEEP,
        old_classes=_OWN.format(**_FIRST),
        new_classes=_OWN.format(**_SECOND, read_old=_OLD_WAY),
        verdict="unknown",
        rules=("CMP410", "CMP420"),
    ),
    JavaPair(
        name="own_serializer_mixes_up",
        old=_KEEP,
        new=_KEEP,
        old_classes=_OWN.format(**_FIRST),
        new_classes=_OWN.format(**_SECOND, read_old="v.n = in.readLong(); v.id = in.readLong();"),
        verdict="unknown",
        rules=("CMP410", "CMP420"),
    ),
    JavaPair(
        name="raw_state_of_another_form",
        old=_RAW,
        new=_RAW,
        old_classes=_OWN.format(**_FIRST),
        new_classes=_OWN.format(**_SECOND, read_old=_OLD_WAY),
        verdict="unknown",
        rules=("CMP431",),
    ),
    JavaPair(
        name="splits_refused",
        old=_READ,
        new=_READ,
        old_classes=_SPLITS.format(version=1, check=""),
        new_classes=_SPLITS.format(version=2, check='if (version != 2) throw new IOException("version " + version);'),
        verdict="unknown",
        rules=_OTHER_VERSION,
    ),
    JavaPair(
        name="splits_read",
        old=_READ,
        new=_READ,
        old_classes=_SPLITS.format(version=1, check=""),
        new_classes=_SPLITS.format(version=2, check=""),
        verdict="unknown",
        rules=_OTHER_VERSION,
    ),
]
"""Pairs of which plans alone do not tell: what OLD's serializers write has to be read by NEW's (``test_made_up``)."""

_TWO = (
    'end(s.keyBy(new Mod(3)).process(new Count("a")).uid("{0}").name("count"));'
    'end(s.keyBy(new Mod(3)).process(new Count("b")).uid("{1}").name("count"));'
)
_FED = (
    'DataStream<Long> t = longs(env, "others").uid("others");'
    'end({0}.keyBy(new Mod(3)).process(new Count("a")).uid("{1}"));'
    'end({2}.keyBy(new Mod(3)).process(new Count("a")).uid("{3}"));'
)
EXCHANGED = [
    JavaPair(
        name="uids_exchanged_under_one_name",
        old=_TWO.format("x", "y"),
        new=_TWO.format("y", "x"),
        verdict="unknown",
        rules=("CMP431",),
    ),
    JavaPair(
        name="uids_exchanged_of_inputs",
        old=_FED.format("s", "x", "t", "y"),
        new=_FED.format("s", "y", "t", "x"),
        verdict="unknown",
        rules=("CMP431", "CMP204"),
    ),
    JavaPair(name="inputs_as_they_were", old=_FED.format("s", "x", "t", "y"), new=_FED.format("s", "x", "t", "y")),
]
"""Operators of one class under uids that changed places: told by what they were made with, or by what feeds them."""

JAVA_PAIRS = [
    *KRYO,
    *HELD,
    *BROADCAST_KEYS,
    *MADE_UP,
    *EXCHANGED,
    *IDENTITY,
    *DRAWN,
    *QUERIES,
    *INPUTS,
    *MORE,
    *STATES,
    *TIMERS,
    *WINDOWS,
    *PATTERNS,
    *FILES,
    *PARALLELISM,
]

JAVA_NEAR_MISSES = {
    "CMP108": ("uid_drawn_random_by_a_helper", "uid_computed"),
    "CMP714": ("aggregate_function_changed", "functions_of_a_query_kept"),
    "CMP113": ("connect_exchanged", "connect_kept"),
    "CMP115": ("function_replaced", "class_renamed"),
    "CMP423": ("state_names_exchanged", "fields_renamed"),
    "CMP424": ("trigger_interval", "default_trigger_written_down"),
    "CMP425": ("condition_changed", "pattern_kept"),
    "CMP605": ("asynchronous_state", "state_as_before"),
    "CMP426": ("interval_join_wider", "interval_join_kept"),
}
"""For each rule that speaks of jobs in Java only, a pair where it speaks and one where it is silent."""
