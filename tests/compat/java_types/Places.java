package places;

import java.io.Serializable;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.triggers.*;
import org.apache.flink.streaming.api.windowing.windows.*;
import org.apache.flink.util.Collector;

/**
 * Places where a job keeps values of a type, of which there are three, one for each key. OLD keeps what {@code make} gives for 0, 1
 * and 2; NEW reports what it finds there, beside what {@code make} gives now.
 */
public final class Places {
    /** Whether the job that runs has been restored; set by who runs it. */
    public static volatile boolean restored;
    /** By key, what was kept or found. */
    public static final Map<String, String> SEEN = new ConcurrentHashMap<>();
    /** By key, what it should be. */
    public static final Map<String, String> EXPECTED = new ConcurrentHashMap<>();

    /** Makes a value of a number. */
    public interface Make<T> extends Serializable {
        T of(long number);
    }

    private Places() {}

    static <T> void kept(long number, Make<T> make) {
        EXPECTED.putIfAbsent("" + number, Text.of(make.of(number)));
        SEEN.putIfAbsent("" + number, "kept");
    }

    static <T> void found(long number, Object value, Make<T> make) {
        EXPECTED.putIfAbsent("" + number, Text.of(make.of(number)));
        SEEN.putIfAbsent("" + number, Text.of(value));
    }

    /** Build the job that keeps values in a place. */
    public static <T> void keep(String place, StreamExecutionEnvironment env, TypeInformation<T> type, Make<T> make) {
        DataStream<Long> numbers = numbers(env, "numbers");
        SingleOutputStreamOperator<Long> made;
        switch (place) {
            case "operator": case "union":
                made = numbers.rebalance().map(new InOperator<>(place, type, make));
                break;
            case "broadcast value": case "broadcast key": {
                MapStateDescriptor<?, ?> rules = place.endsWith("key")
                        ? new MapStateDescriptor<>("rules", type, Types.LONG) : new MapStateDescriptor<>("rules", Types.LONG, type);
                made = numbers.connect(numbers(env, "rules").broadcast(rules)).process(new InBroadcast<>(rules, make));
                break;
            }
            case "key": made = numbers.keyBy(new Keyed<>(make), type).process(new ByKey<>(make)); break;
            case "async": {
                SingleOutputStreamOperator<T> values = numbers.map(new Value<>(make)).returns(type).uid("values");
                made = AsyncDataStream.orderedWait(values, new InFlight<>(make), 1, TimeUnit.DAYS, 1_000_000);
                break;
            }
            case "keyed reduce": made = pairs(numbers, type, make).keyBy(new First<>()).reduce(new Kept<>()).uid("op")
                    .map(new Seen<>(make)); break;
            case "interval join": made = joined(numbers, numbers(env, "right"), type, make); break;
            case "pattern": made = matched(pairs(numbers, type, make), make); break;
            default:
                made = place.startsWith("window")
                        ? windowed(place, pairs(numbers, type, make).keyBy(new First<>()), type, make)
                        : numbers.keyBy(new Third()).process(new InKeyed<>(place, type, make));
        }
        made.returns(Types.LONG).uid(place.equals("keyed reduce") ? "seen" : "op").sinkTo(new DiscardingSink<>()).uid("sink");
    }

    static DataStream<Long> numbers(StreamExecutionEnvironment env, String name) {
        GeneratorFunction<Long, Long> same = number -> number;
        DataGeneratorSource<Long> source = new DataGeneratorSource<>(same, Long.MAX_VALUE, RateLimiterStrategy.perSecond(200), Types.LONG);
        WatermarkStrategy<Long> times = WatermarkStrategy.<Long>forMonotonousTimestamps().withTimestampAssigner((number, at) -> number);
        return env.fromSource(source, times, name).setParallelism(1).uid(name);
    }

    static <T> DataStream<Tuple2<Long, T>> pairs(DataStream<Long> numbers, TypeInformation<T> type, Make<T> make) {
        return numbers.map(new PairOf<>(make)).returns(Types.TUPLE(Types.LONG, type)).uid("pairs");
    }

    static class Third implements KeySelector<Long, Long> {
        @Override public Long getKey(Long number) { return number % 3; }
    }

    static class First<T> implements KeySelector<Tuple2<Long, T>, Long> {
        @Override public Long getKey(Tuple2<Long, T> pair) { return pair.f0; }
    }

    static class Keyed<T> implements KeySelector<Long, T> {
        final Make<T> make;
        Keyed(Make<T> make) { this.make = make; }
        @Override public T getKey(Long number) { return make.of(number % 3); }
    }

    static class Value<T> implements MapFunction<Long, T> {
        final Make<T> make;
        Value(Make<T> make) { this.make = make; }
        @Override public T map(Long number) { return make.of(number % 3); }
    }

    static class PairOf<T> implements MapFunction<Long, Tuple2<Long, T>> {
        final Make<T> make;
        PairOf(Make<T> make) { this.make = make; }
        @Override public Tuple2<Long, T> map(Long number) {
            if (!restored && number > 20) kept(number % 3, make);
            return Tuple2.of(number % 3, make.of(number % 3));
        }
    }

    /** State of a keyed function: the place has the kind, and whether it lives for a time only or is asked for with the first element. */
    static class InKeyed<T> extends KeyedProcessFunction<Long, Long, Long> {
        final String kind;
        final boolean forATime;
        final boolean late;
        final TypeInformation<T> type;
        final Make<T> make;
        transient State state;

        InKeyed(String place, TypeInformation<T> type, Make<T> make) {
            this.kind = place.split(" ")[0];
            this.forATime = place.endsWith("ttl");
            this.late = place.endsWith("late");
            this.type = type;
            this.make = make;
        }

        @Override public void open(OpenContext context) {
            if (!late) state = asked();
        }

        State asked() {
            switch (kind) {
                case "value": return getRuntimeContext().getState(living(new ValueStateDescriptor<>("kept", type)));
                case "list": return getRuntimeContext().getListState(living(new ListStateDescriptor<>("kept", type)));
                case "entry": return getRuntimeContext().getMapState(living(new MapStateDescriptor<>("kept", Types.STRING, type)));
                case "name": return getRuntimeContext().getMapState(living(new MapStateDescriptor<>("kept", type, Types.LONG)));
                case "reducing":
                    return getRuntimeContext().getReducingState(living(new ReducingStateDescriptor<>("kept", new Last<T>(), type)));
                default: return getRuntimeContext().getAggregatingState(living(new AggregatingStateDescriptor<>("kept", new Made<>(make), type)));
            }
        }

        <D extends StateDescriptor<?, ?>> D living(D descriptor) {
            if (forATime) descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(3)).build());
            return descriptor;
        }

        @SuppressWarnings("unchecked")
        @Override public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (state == null) state = asked();
            long key = context.getCurrentKey();
            if (restored) found(key, read(key), make);
            else {
                write(key);
                kept(key, make);
            }
        }

        @SuppressWarnings("unchecked")
        Object read(long key) throws Exception {
            switch (kind) {
                case "value": return ((ValueState<T>) state).value();
                case "list": {
                    Iterable<T> all = ((ListState<T>) state).get();
                    return all == null || !all.iterator().hasNext() ? null : all.iterator().next();
                }
                case "entry": return ((MapState<String, T>) state).get("entry");
                case "name": return ((MapState<T, Long>) state).contains(make.of(key))
                        ? ((MapState<T, Long>) state).keys().iterator().next() : null;
                default: return ((AppendingState<?, T>) state).get();
            }
        }

        @SuppressWarnings("unchecked")
        void write(long key) throws Exception {
            switch (kind) {
                case "value": ((ValueState<T>) state).update(make.of(key)); break;
                case "list": ((ListState<T>) state).update(Collections.singletonList(make.of(key))); break;
                case "entry": ((MapState<String, T>) state).put("entry", make.of(key)); break;
                case "name": ((MapState<T, Long>) state).put(make.of(key), key); break;
                case "reducing": ((ReducingState<T>) state).add(make.of(key)); break;
                default: ((AggregatingState<Long, T>) state).add(key);
            }
        }
    }

    static class Last<T> implements ReduceFunction<T> {
        @Override public T reduce(T one, T other) { return other; }
    }

    static class Kept<T> implements ReduceFunction<T> {
        @Override public T reduce(T one, T other) { return one; }
    }

    static class Made<T> implements AggregateFunction<Long, T, T> {
        final Make<T> make;
        Made(Make<T> make) { this.make = make; }
        @Override public T createAccumulator() { return make.of(0); }
        @Override public T add(Long number, T made) { return make.of(number); }
        @Override public T getResult(T made) { return made; }
        @Override public T merge(T one, T other) { return one; }
    }

    static class Seen<T> implements MapFunction<Tuple2<Long, T>, Long> {
        final Make<T> make;
        Seen(Make<T> make) { this.make = make; }
        @Override public Long map(Tuple2<Long, T> pair) {
            if (restored) found(pair.f0, pair.f1, make);
            return pair.f0;
        }
    }

    static class InOperator<T> extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        final String place;
        final TypeInformation<T> type;
        final Make<T> make;
        transient ListState<T> state;

        InOperator(String place, TypeInformation<T> type, Make<T> make) {
            this.place = place;
            this.type = type;
            this.make = make;
        }

        @Override public Long map(Long number) {
            if (!restored) kept(number % 3, make);
            return number;
        }

        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception {
            state.update(List.of(make.of(0), make.of(1), make.of(2)));
        }

        @Override public void initializeState(FunctionInitializationContext context) throws Exception {
            ListStateDescriptor<T> descriptor = new ListStateDescriptor<>("kept", type);
            state = place.equals("union") ? context.getOperatorStateStore().getUnionListState(descriptor)
                    : context.getOperatorStateStore().getListState(descriptor);
            long at = 0;
            if (restored) for (T one : state.get()) found(at++ % 3, one, make);
            if (restored && at == 0 && context.isRestored() && getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks() == 1)
                for (; at < 3; at++) found(at, null, make);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static class InBroadcast<T> extends BroadcastProcessFunction<Long, Long, Long> {
        final MapStateDescriptor rules;
        final Make<T> make;

        InBroadcast(MapStateDescriptor<?, ?> rules, Make<T> make) {
            this.rules = rules;
            this.make = make;
        }

        @Override public void processElement(Long number, ReadOnlyContext context, Collector<Long> out) {}

        @Override public void processBroadcastElement(Long number, Context context, Collector<Long> out) throws Exception {
            BroadcastState state = context.getBroadcastState(rules);
            long key = number % 3;
            boolean named = rules.getValueSerializer() instanceof org.apache.flink.api.common.typeutils.base.LongSerializer;
            if (!restored) {
                if (named) state.put(make.of(key), key);
                else state.put(key, make.of(key));
                kept(key, make);
            } else if (!named) found(key, state.get(key), make);
            else {
                Object kept = null;
                for (Object entry : (Iterable<?>) state.entries())
                    if (((Map.Entry) entry).getValue().equals(key)) kept = ((Map.Entry) entry).getKey();
                found(key, state.get(make.of(key)) == null ? null : kept, make);
            }
        }
    }

    static class ByKey<T> extends KeyedProcessFunction<T, Long, Long> {
        final Make<T> make;
        transient ValueState<Long> state;
        ByKey(Make<T> make) { this.make = make; }

        @Override public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("kept", Types.LONG));
        }

        @Override public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (!restored) {
                state.update(number % 3);
                kept(number % 3, make);
            } else found(number % 3, state.value() == null ? null : make.of(state.value()), make);
        }
    }

    /** Elements wait for an answer that OLD never gives. */
    static class InFlight<T> extends RichAsyncFunction<T, Long> {
        final Make<T> make;
        transient long at;
        InFlight(Make<T> make) { this.make = make; }

        @Override public void asyncInvoke(T value, ResultFuture<Long> answer) {
            if (!restored) kept(at++ % 3, make);
            else {
                found(at++ % 3, value, make);
                answer.complete(Collections.singleton(1L));
            }
        }

        @Override public void timeout(T value, ResultFuture<Long> answer) {
            answer.complete(Collections.emptyList());
        }
    }

    static <T> SingleOutputStreamOperator<Long> joined(DataStream<Long> left, DataStream<Long> right, TypeInformation<T> type, Make<T> make) {
        FilterFunction<Long> later = number -> restored;
        return pairs(left, type, make).keyBy(new First<>()).intervalJoin(right.filter(later).uid("later").keyBy(new Third()))
                .between(Duration.ofDays(-9), Duration.ofDays(9)).process(new Joined<>(make));
    }

    static class Joined<T> extends ProcessJoinFunction<Tuple2<Long, T>, Long, Long> {
        final Make<T> make;
        Joined(Make<T> make) { this.make = make; }
        @Override public void processElement(Tuple2<Long, T> pair, Long right, Context context, Collector<Long> out) {
            found(pair.f0, pair.f1, make);
        }
    }

    static <T> SingleOutputStreamOperator<Long> matched(DataStream<Tuple2<Long, T>> pairs, Make<T> make) {
        Pattern<Tuple2<Long, T>, ?> pattern = Pattern.<Tuple2<Long, T>>begin("before").where(new When<>(false))
                .followedBy("behind").where(new When<>(true));
        return CEP.pattern(pairs.keyBy(new First<>()), pattern).inProcessingTime().process(new Matched<>(make), Types.LONG);
    }

    static class When<T> extends SimpleCondition<T> {
        final boolean behind;
        When(boolean behind) { this.behind = behind; }
        @Override public boolean filter(T value) { return behind == restored; }
    }

    static class Matched<T> extends PatternProcessFunction<Tuple2<Long, T>, Long> {
        final Make<T> make;
        Matched(Make<T> make) { this.make = make; }
        @Override public void processMatch(Map<String, List<Tuple2<Long, T>>> match, Context context, Collector<Long> out) {
            Tuple2<Long, T> pair = match.get("before").get(0);
            found(pair.f0, pair.f1, make);
        }
    }

    static <T> SingleOutputStreamOperator<Long> windowed(
            String place, KeyedStream<Tuple2<Long, T>, Long> keyed, TypeInformation<T> type, Make<T> make) {
        WindowedStream<Tuple2<Long, T>, Long, GlobalWindow> all = keyed.window(GlobalWindows.create()).trigger(new Behind<>());
        switch (place) {
            case "window reduce": return all.reduce(new Kept<>(), new InWindow<>("", type, make));
            case "window aggregate":
                return all.aggregate(new FirstOf<>(), new OfWindow<>(make), Types.TUPLE(Types.LONG, type), type, Types.LONG);
            case "window evicted": return all.evictor(CountEvictor.of(100_000)).process(new InWindow<>("", type, make));
            case "window session":
                return keyed.window(ProcessingTimeSessionWindows.withGap(Duration.ofHours(5))).trigger(new Behind<>())
                        .process(new InWindow<>("", type, make));
            case "window global state": case "window own state":
                return keyed.window(GlobalWindows.create()).trigger(new Always<>()).process(new InWindow<>(place, type, make));
            default: return all.process(new InWindow<>("", type, make));
        }
    }

    static class Always<W extends Window> extends Trigger<Object, W> {
        @Override public TriggerResult onElement(Object element, long at, W window, TriggerContext context) {
            return fires() ? TriggerResult.FIRE : TriggerResult.CONTINUE;
        }
        boolean fires() { return true; }
        @Override public TriggerResult onProcessingTime(long at, W window, TriggerContext context) { return TriggerResult.CONTINUE; }
        @Override public TriggerResult onEventTime(long at, W window, TriggerContext context) { return TriggerResult.CONTINUE; }
        @Override public void clear(W window, TriggerContext context) {}
        @Override public boolean canMerge() { return true; }
        @Override public void onMerge(W window, OnMergeContext context) {}
    }

    static class Behind<W extends Window> extends Always<W> {
        @Override boolean fires() { return restored; }
    }

    /** Looks at the first element of a window, or at state of its context. */
    static class InWindow<T, W extends Window> extends ProcessWindowFunction<Tuple2<Long, T>, Long, Long, W> {
        final String place;
        final TypeInformation<T> type;
        final Make<T> make;

        InWindow(String place, TypeInformation<T> type, Make<T> make) {
            this.place = place;
            this.type = type;
            this.make = make;
        }

        @Override public void process(Long key, Context context, Iterable<Tuple2<Long, T>> pairs, Collector<Long> out) throws Exception {
            if (place.isEmpty()) {
                if (restored) found(key, pairs.iterator().next().f1, make);
                return;
            }
            ValueStateDescriptor<T> descriptor = new ValueStateDescriptor<>("kept", type);
            KeyedStateStore states = place.equals("window global state") ? context.globalState() : context.windowState();
            ValueState<T> state = states.getState(descriptor);
            if (restored) found(key, state.value(), make);
            else {
                state.update(make.of(key));
                kept(key, make);
            }
        }
    }

    static class OfWindow<T> extends ProcessWindowFunction<T, Long, Long, GlobalWindow> {
        final Make<T> make;
        OfWindow(Make<T> make) { this.make = make; }
        @Override public void process(Long key, Context context, Iterable<T> values, Collector<Long> out) {
            if (restored) found(key, values.iterator().next(), make);
        }
    }

    static class FirstOf<T> implements AggregateFunction<Tuple2<Long, T>, Tuple2<Long, T>, T> {
        @Override public Tuple2<Long, T> createAccumulator() { return Tuple2.of(-1L, null); }
        @Override public Tuple2<Long, T> add(Tuple2<Long, T> pair, Tuple2<Long, T> first) { return first.f0 < 0 ? pair : first; }
        @Override public T getResult(Tuple2<Long, T> first) { return first.f1; }
        @Override public Tuple2<Long, T> merge(Tuple2<Long, T> one, Tuple2<Long, T> other) { return one; }
    }
}
