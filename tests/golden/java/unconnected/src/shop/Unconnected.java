package shop;

import java.io.IOException;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Triggerable;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.api.common.typeinfo.Types;

/** Functions and a sink that connect to a system before they ask for state. "up", "down" or "silent" says how it answers. */
public class Unconnected {
    static class Client {
        static Client connect() throws IOException {
            String found = System.getProperty("system");
            if ("silent".equals(found)) {
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException error) {
                    throw new IOException(error);
                }
            }
            if (!"up".equals(found)) {
                throw new IOException("the system is down");
            }
            return new Client();
        }

        String name() {
            return System.getProperty("told", "told-by-the-system");
        }
    }

    static class Counting extends KeyedProcessFunction<String, String, String> {
        private transient Client client;
        private transient ValueState<Long> count;
        private transient MapState<String, Integer> seen;

        @Override
        public void open(OpenContext context) throws Exception {
            client = Client.connect();
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            seen = getRuntimeContext().getMapState(new MapStateDescriptor<>("seen", String.class, Integer.class));
        }

        @Override
        public void processElement(String value, Context context, Collector<String> out) throws Exception {
            Long before = count.value();
            count.update(before == null ? 1L : before + 1);
            seen.put(value, 1);
            context.timerService().registerProcessingTimeTimer(1L);
            out.collect(value);
        }
    }

    static class Later extends RichFlatMapFunction<String, String> {
        private transient ReducingState<Long> sum;
        private transient ListState<String> late;

        @Override
        public void open(OpenContext context) throws Exception {
            Client.connect();
            sum = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("sum", Long::sum, Long.class));
        }

        @Override
        public void flatMap(String value, Collector<String> out) throws Exception {
            if (late == null) {
                late = getRuntimeContext().getListState(new ListStateDescriptor<>("late", String.class));
            }
            sum.add(1L);
            late.add(value);
            out.collect(value);
        }
    }

    static class Named extends RichFlatMapFunction<String, String> {
        private transient ValueState<Long> named;

        @Override
        public void open(OpenContext context) throws Exception {
            named = getRuntimeContext().getState(new ValueStateDescriptor<>(Client.connect().name(), Types.LONG));
        }

        @Override
        public void flatMap(String value, Collector<String> out) throws Exception {
            named.update(1L);
            out.collect(value);
        }
    }

    static class Either extends RichFlatMapFunction<String, String> {
        private transient ValueState<Long> either;

        @Override
        public void open(OpenContext context) throws Exception {
            if (Client.connect().name().length() > 3) {
                either = getRuntimeContext().getState(new ValueStateDescriptor<>("long", Types.LONG));
            } else {
                either = getRuntimeContext().getState(new ValueStateDescriptor<>("short", Types.LONG));
            }
        }

        @Override
        public void flatMap(String value, Collector<String> out) throws Exception {
            either.update(1L);
        }
    }

    static class Base extends RichFlatMapFunction<String, String> {
        protected transient ValueState<Long> first;
        protected transient ValueState<Long> second;

        @Override
        public void open(OpenContext context) throws Exception {
            first = getRuntimeContext().getState(new ValueStateDescriptor<>("of-base", Types.LONG));
        }

        @Override
        public void flatMap(String value, Collector<String> out) throws Exception {
            out.collect(value);
        }
    }

    static class Instead extends Base {
        @Override
        public void open(OpenContext context) throws Exception {
            Client.connect();
            ask();
        }

        void ask() {
            second = getRuntimeContext().getState(new ValueStateDescriptor<>("instead", Types.LONG));
        }
    }

    static class Besides extends Base {
        @Override
        public void open(OpenContext context) throws Exception {
            for (int tries = 0; tries < 2; tries++) {
                Client.connect();
            }
            super.open(context);
            second = getRuntimeContext().getState(new ValueStateDescriptor<>("besides", Types.LONG));
        }
    }

    static class Nesting extends RichFlatMapFunction<String, String> {
        private final RichFlatMapFunction<String, String> inner = new Base();

        @Override
        public void open(OpenContext context) throws Exception {
            Client.connect();
            inner.setRuntimeContext(getRuntimeContext());
            inner.open(context);
        }

        @Override
        public void flatMap(String value, Collector<String> out) throws Exception {
            inner.flatMap(value, out);
        }
    }

    static class Buffering extends RichFlatMapFunction<String, String> implements CheckpointedFunction {
        private transient ListState<String> buffered;
        private transient Client client;

        @Override
        public void open(OpenContext context) throws Exception {
            client = Client.connect();
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            buffered = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("buffered", String.class));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            buffered.update(List.of(client.name()));
        }

        @Override
        public void flatMap(String value, Collector<String> out) {
            out.collect(value);
        }
    }

    static class InWindows extends ProcessWindowFunction<String, String, String, TimeWindow> {
        private transient ValueState<Long> windows;

        @Override
        public void open(OpenContext context) throws Exception {
            Client.connect();
            windows = getRuntimeContext().getState(new ValueStateDescriptor<>("windows", Types.LONG));
        }

        @Override
        public void process(String key, Context context, Iterable<String> values, Collector<String> out) throws Exception {
            windows.update(1L);
            out.collect(key);
        }
    }

    static final MapStateDescriptor<String, String> RULES = new MapStateDescriptor<>("rules", String.class, String.class);

    static class Ruled extends KeyedBroadcastProcessFunction<String, String, String, String> {
        private transient ValueState<String> last;

        @Override
        public void open(OpenContext context) throws Exception {
            Client.connect();
            last = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Types.STRING));
        }

        @Override
        public void processElement(String value, ReadOnlyContext context, Collector<String> out) throws Exception {
            last.update(value);
        }

        @Override
        public void processBroadcastElement(String value, Context context, Collector<String> out) throws Exception {
            context.getBroadcastState(RULES).put(value, value);
        }
    }

    static class Timed extends AbstractStreamOperator<String>
            implements OneInputStreamOperator<String, String>, Triggerable<String, VoidNamespace> {
        private transient InternalTimerService<VoidNamespace> timers;

        @Override
        public void open() throws Exception {
            super.open();
            Client.connect();
            timers = getInternalTimerService("own-timers", VoidNamespaceSerializer.INSTANCE, this);
        }

        @Override
        public void processElement(StreamRecord<String> record) {
            timers.registerProcessingTimeTimer(VoidNamespace.INSTANCE, 1L);
        }

        @Override
        public void onEventTime(InternalTimer<String, VoidNamespace> timer) {}

        @Override
        public void onProcessingTime(InternalTimer<String, VoidNamespace> timer) {}
    }

    static class Writing implements Sink<String>, SupportsWriterState<String, String> {
        @Override
        public SinkWriter<String> createWriter(WriterInitContext context) throws IOException {
            return restoreWriter(context, List.of());
        }

        @Override
        public StatefulSinkWriter<String, String> restoreWriter(WriterInitContext context, java.util.Collection<String> found)
                throws IOException {
            Client.connect();
            return new Writer();
        }

        @Override
        public SimpleVersionedSerializer<String> getWriterStateSerializer() {
            return new Texts();
        }
    }

    static class Writer implements StatefulSinkWriter<String, String> {
        @Override
        public void write(String value, Context context) {}

        @Override
        public void flush(boolean end) {}

        @Override
        public List<String> snapshotState(long checkpoint) {
            return List.of("written");
        }

        @Override
        public void close() {}
    }

    static class Texts implements SimpleVersionedSerializer<String> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(String text) {
            return text.getBytes();
        }

        @Override
        public String deserialize(int version, byte[] data) {
            return new String(data);
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("system", arguments[0]);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.enableCheckpointing(1000);
        KeyedStream<String, String> keyed = environment.fromData("a", "b").keyBy(value -> value);
        keyed.process(new Counting()).uid("Counting");
        keyed.flatMap(new Later()).uid("Later");
        keyed.flatMap(new Named()).uid("Named");
        keyed.flatMap(new Either()).uid("Either");
        keyed.flatMap(new Instead()).uid("Instead");
        keyed.flatMap(new Besides()).uid("Besides");
        keyed.flatMap(new Nesting()).uid("Nesting");
        keyed.flatMap(new Buffering()).uid("Buffering");
        keyed.window(TumblingProcessingTimeWindows.of(java.time.Duration.ofMinutes(1))).process(new InWindows()).uid("InWindows");
        keyed.connect(environment.fromData("r").broadcast(RULES)).process(new Ruled()).uid("Ruled");
        keyed.transform("Timed", Types.STRING, new Timed()).uid("Timed");
        keyed.sinkTo(new Writing()).uid("Writing");
        environment.execute("unconnected");
    }
}
