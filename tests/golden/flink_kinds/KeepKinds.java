import java.io.File;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Timestamp;
import java.time.*;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.eventtime.*;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.*;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.*;
import org.apache.flink.formats.avro.typeutils.AvroSerializer;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.windows.*;
import org.apache.flink.types.Either;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * Keeps one state of each kind and type for the keys k0 to k5, and timers; windows; operator and broadcast state. Then stops with a
 * savepoint or after a checkpoint. Arguments: hashmap or rocksdb; canonical, native or checkpoint; where timers are, heap or rocksdb;
 * folder; "kryo" to have a state that Kryo writes as well, or "plain" to have no object of a subclass.
 */
public class KeepKinds {
    static final AtomicInteger SEEN = new AtomicInteger();
    static boolean kryo, plain;

    public enum Colour { RED, GREEN, BLUE }

    public static class Person {
        public String name;
        public Integer age;
        public List<Long> marks;
        public Colour colour;
        public Person() {}
    }

    public static class Student extends Person {
        public long number;
        public Student() {}
    }

    public static class Plain {
        public String name;
        public int age;
        public Plain() {}
        public Plain(String name, int age) { this.name = name; this.age = age; }
    }

    static final String SCHEMA = "{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"
            + "{\"name\":\"note\",\"type\":[\"null\",\"string\"]},{\"name\":\"tags\",\"type\":{\"type\":\"array\",\"items\":\"string\"}}]}";

    public static class Numbers implements MapFunction<Long, Long> {
        @Override public Long map(Long number) throws Exception {
            if (number >= 12) Thread.sleep(200);
            return number;
        }
    }

    public static class Keeps extends KeyedProcessFunction<String, Long, Long> implements CheckpointedFunction {
        final List<ValueStateDescriptor<?>> values = new ArrayList<>();
        ListState<Long> list; MapState<String, Tuple2<Long, String>> map; ReducingState<Long> sum; AggregatingState<Long, Double> mean;
        ValueState<Long> ttlValue; ListState<String> ttlList; MapState<Long, Long> ttlMap;
        ListState<Person> people; ListState<Long> union;

        @SuppressWarnings({"unchecked", "rawtypes"})
        void put(String name, TypeInformation type, Object value) throws Exception {
            ((ValueState<Object>) getRuntimeContext().getState(new ValueStateDescriptor<>(name, type))).update(value);
        }

        @Override public void initializeState(FunctionInitializationContext context) throws Exception {
            people = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("people", Person.class));
            union = context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("union", Types.LONG));
        }

        @Override public void open(OpenContext context) throws Exception {
            StateTtlConfig ttl = StateTtlConfig.newBuilder(java.time.Duration.ofDays(10000)).build();
            list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", Types.LONG));
            map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", Types.STRING, Types.TUPLE(Types.LONG, Types.STRING)));
            sum = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("sum", Long::sum, Types.LONG));
            mean = getRuntimeContext().getAggregatingState(new AggregatingStateDescriptor<>("mean", new Mean(), Types.TUPLE(Types.LONG, Types.LONG)));
            ValueStateDescriptor<Long> value = new ValueStateDescriptor<>("ttl_value", Types.LONG);
            value.enableTimeToLive(ttl);
            ttlValue = getRuntimeContext().getState(value);
            ListStateDescriptor<String> strings = new ListStateDescriptor<>("ttl_list", Types.STRING);
            strings.enableTimeToLive(ttl);
            ttlList = getRuntimeContext().getListState(strings);
            MapStateDescriptor<Long, Long> longs = new MapStateDescriptor<>("ttl_map", Types.LONG, Types.LONG);
            longs.enableTimeToLive(ttl);
            ttlMap = getRuntimeContext().getMapState(longs);
        }

        @Override public void snapshotState(FunctionSnapshotContext context) {}

        @Override public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (number >= 12) { out.collect(number); return; }
            long n = number % 6;
            list.add(number);
            map.put("m" + number, Tuple2.of(n, "v" + number));
            sum.add(number);
            mean.add(number);
            ttlValue.update(n);
            ttlList.add("t" + number);
            ttlMap.put(number, n);
            put("long", Types.LONG, n * 1000 - 3);
            put("string", Types.STRING, "s" + n + "é");
            put("boolean", Types.BOOLEAN, n % 2 == 0);
            put("double", Types.DOUBLE, n / 4.0);
            put("dec", Types.BIG_DEC, new BigDecimal("1.50").multiply(BigDecimal.valueOf(n + 1)));
            put("big_int", Types.BIG_INT, BigInteger.TEN.pow(20).negate().add(BigInteger.valueOf(n)));
            put("date", Types.LOCAL_DATE, LocalDate.of(2024, 1, (int) (1 + n)));
            put("time", Types.LOCAL_TIME, LocalTime.of((int) n, 1, 2, 3000));
            put("date_time", Types.LOCAL_DATE_TIME, LocalDateTime.of(2024, 2, 29, 1, 2, (int) n, 4000));
            put("instant", Types.INSTANT, Instant.ofEpochSecond(1700000000L + n, 5));
            put("timestamp", Types.SQL_TIMESTAMP, new Timestamp(1700000000000L + n));
            put("tuple", Types.TUPLE(Types.LONG, Types.STRING, Types.DOUBLE), Tuple3.of(n, "t" + n, n / 2.0));
            put("row", Types.ROW_NAMED(new String[] {"name", "age"}, Types.STRING, Types.INT), Row.of(n % 2 == 0 ? null : "r" + n, (int) n));
            put("colour", TypeInformation.of(Colour.class), Colour.values()[(int) (n % 3)]);
            put("longs", Types.PRIMITIVE_ARRAY(Types.LONG), new long[] {n, -n});
            put("strings", Types.OBJECT_ARRAY(Types.STRING), new String[] {"a" + n, null});
            put("tuples", Types.OBJECT_ARRAY(Types.TUPLE(Types.LONG, Types.STRING)), new Tuple2[] {Tuple2.of(n, "x"), Tuple2.of(-n, "y")});
            put("list_of", Types.LIST(Types.STRING), new ArrayList<>(Arrays.asList("l" + n, "")));
            Map<String, Long> inside = new TreeMap<>();
            inside.put("a", n);
            inside.put("b", null);
            put("map_of", Types.MAP(Types.STRING, Types.LONG), new HashMap<>(inside));
            put("either", Types.EITHER(Types.LONG, Types.STRING), n % 2 == 0 ? Either.Left(n) : Either.Right("right" + n));
            Person person = n == 4 && !plain ? new Student() : new Person();
            person.name = n % 2 == 0 ? "p" + n : null;
            person.age = n % 3 == 0 ? null : (int) n;
            person.marks = n == 0 ? null : new ArrayList<>(Arrays.asList(n, n + 1));
            person.colour = Colour.BLUE;
            if (person instanceof Student) ((Student) person).number = 77;
            put("pojo", TypeInformation.of(Person.class), person);
            Schema schema = new Schema.Parser().parse(SCHEMA);
            GenericRecord order = new GenericData.Record(schema);
            order.put("id", n);
            order.put("note", n % 2 == 0 ? null : "note" + n);
            order.put("tags", Arrays.asList("x", "y" + n));
            put("avro", new GenericRecordAvroTypeInfo(schema), order);
            getRuntimeContext().getState(new ValueStateDescriptor<>("avro_reflect", new AvroSerializer<>(Plain.class))).update(new Plain("q" + n, (int) n));
            if (kryo) {
                BitSet bits = new BitSet();
                bits.set((int) n);
                put("kryo", Types.GENERIC(BitSet.class), bits);
            }
            if (number < 6) people.add(person);
            if (number < 6) union.add(number);
            context.timerService().registerEventTimeTimer(4_000_000_000_000L + n);
            context.timerService().registerEventTimeTimer(5_000_000_000_000L + number);
            context.timerService().registerProcessingTimeTimer(6_000_000_000_000L + n);
            SEEN.incrementAndGet();
            out.collect(number);
        }
    }

    public static class Mean implements AggregateFunction<Long, Tuple2<Long, Long>, Double> {
        @Override public Tuple2<Long, Long> createAccumulator() { return Tuple2.of(0L, 0L); }
        @Override public Tuple2<Long, Long> add(Long value, Tuple2<Long, Long> sum) { return Tuple2.of(sum.f0 + value, sum.f1 + 1); }
        @Override public Double getResult(Tuple2<Long, Long> sum) { return 1.0 * sum.f0 / sum.f1; }
        @Override public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) { return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1); }
    }

    public static class Rules extends KeyedBroadcastProcessFunction<String, Long, Long, Long> {
        static final MapStateDescriptor<String, Tuple2<Long, String>> RULES = new MapStateDescriptor<>("rules", Types.STRING, Types.TUPLE(Types.LONG, Types.STRING));
        @Override public void processElement(Long number, ReadOnlyContext context, Collector<Long> out) {}
        @Override public void processBroadcastElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (number < 12) context.getBroadcastState(RULES).put("rule" + number % 4, Tuple2.of(number % 4, "r"));
        }
    }

    public static class All<W extends Window> extends ProcessWindowFunction<Long, Long, Tuple2<String, Integer>, W> {
        @Override public void process(Tuple2<String, Integer> key, Context context, Iterable<Long> numbers, Collector<Long> out) {}
    }

    public static void main(String[] args) throws Exception {
        kryo = args.length > 4 && args[4].equals("kryo");
        plain = args.length > 4 && args[4].equals("plain");
        File folder = new File(args[3]);
        Configuration configuration = new Configuration();
        configuration.setString("state.backend.type", args[0]);
        configuration.setString("state.backend.incremental", "true");
        configuration.setString("state.backend.rocksdb.timer-service.factory", args[2].toUpperCase());
        configuration.setString("execution.checkpointing.dir", folder.toURI().toString());
        configuration.setString("state.checkpoints.dir", folder.toURI().toString());
        configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        if (args[1].equals("checkpoint")) configuration.setString("execution.checkpointing.interval", "700 ms");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        environment.setMaxParallelism(args[0].equals("hashmap") ? 128 : 256);
        DataStream<Long> numbers = environment.fromSequence(0, 100000).map(new Numbers())
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Long>noWatermarks().withTimestampAssigner((number, time) -> number % 12 * 1000));
        KeyedStream<Long, String> keyed = numbers.keyBy(number -> "k" + number % 6, Types.STRING);
        keyed.process(new Keeps()).uid("keeps").print();
        keyed.connect(numbers.broadcast(Rules.RULES)).process(new Rules()).uid("rules").print();
        KeyedStream<Long, Tuple2<String, Integer>> paired = numbers.filter(number -> number < 12)
                .keyBy(number -> Tuple2.of("k" + number % 3, (int) (number % 2)), Types.TUPLE(Types.STRING, Types.INT));
        paired.window(TumblingEventTimeWindows.of(java.time.Duration.ofSeconds(5))).reduce(Long::sum).uid("tumbling").print();
        paired.window(EventTimeSessionWindows.withGap(java.time.Duration.ofSeconds(4))).process(new All<TimeWindow>()).uid("sessions").print();
        paired.countWindow(100).process(new All<GlobalWindow>()).uid("counted").print();
        configuration.setString("restart-strategy.type", "none");
        environment.configure(configuration);
        JobClient client = environment.executeAsync("kinds");
        client.getJobExecutionResult().whenComplete((result, error) -> { if (error != null && SEEN.get() < 12) { error.printStackTrace(); System.exit(1); } });
        while (SEEN.get() < 12) Thread.sleep(50);
        if (args[1].equals("checkpoint")) {
            Thread.sleep(2500);
            client.cancel().get();
            Thread.sleep(1500);
        } else {
            client.stopWithSavepoint(false, folder.toURI().toString(), SavepointFormatType.valueOf(args[1].toUpperCase())).get(60, TimeUnit.SECONDS);
        }
        System.exit(0);
    }
}
