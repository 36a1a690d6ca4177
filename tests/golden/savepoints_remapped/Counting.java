import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.execution.*;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.Collector;

/** Counts numbers by their rest; what it has written is complete only if every operator found its state. */
public class Counting {
    static final long NUMBERS = 1500;
    static volatile boolean saving;
    static volatile long reached;

    /** Numbers the records, across restores. */
    public static class Numbered extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        private transient ListState<Long> kept;
        private long seen;

        public Long map(Long value) throws Exception {
            seen++;
            reached = seen;
            Thread.sleep(saving && seen > NUMBERS / 2 ? 200 : 0);
            return value;
        }
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            kept.update(List.of(seen));
        }
        public void initializeState(FunctionInitializationContext context) throws Exception {
            kept = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("seen", Types.LONG));
            for (Long each : kept.get()) {
                seen += each;
            }
        }
        public void close() {
            if (seen == NUMBERS) {
                System.out.println("seen " + seen);
            }
        }
    }

    /** Counts by key in a value and by parity in a map. */
    public static class Count extends KeyedProcessFunction<Long, Long, String> {
        private final String label;
        private transient ValueState<Long> count;
        private transient MapState<String, Long> parities;

        public Count(String label) {
            this.label = label;
        }
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            parities = getRuntimeContext().getMapState(new MapStateDescriptor<>("parities", Types.STRING, Types.LONG));
        }
        public void processElement(Long value, Context context, Collector<String> out) throws Exception {
            long now = count.value() == null ? 1 : count.value() + 1;
            count.update(now);
            String parity = value % 2 == 0 ? "even" : "odd";
            long before = parities.contains(parity) ? parities.get(parity) : 0;
            parities.put(parity, before + 1);
            out.collect(label + " " + context.getCurrentKey() + " " + now + " " + parity + " " + (before + 1));
        }
    }

    static List<String> find(java.nio.file.Path below, String name) throws Exception {
        try (Stream<java.nio.file.Path> all = Files.walk(below)) {
            return all.map(each -> each.getFileName().toString()).filter(name::equals).collect(Collectors.toList());
        } catch (java.io.UncheckedIOException gone) {
            return List.of();
        }
    }

    public static void main(String[] args) throws Exception {
        String how = args[0], backend = args[1], folder = args[2], uids = args[3], from = args.length > 4 ? args[4] : null;
        boolean swapped = args.length > 5;
        saving = !how.equals("finish");
        Configuration settings = new Configuration();
        for (String key : List.of("state.backend", "state.backend.type")) settings.setString(key, backend);
        for (String key : List.of("state.checkpoints.dir", "execution.checkpointing.dir"))
            settings.setString(key, "file://" + folder + "/checkpoints");
        for (String key : List.of("state.backend.incremental", "execution.checkpointing.incremental"))
            settings.setString(key, "true");
        for (String key : List.of("state.storage.fs.memory-threshold", "execution.checkpointing.data-inline-threshold"))
            settings.setString(key, "0b");
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("restart-strategy.type", "none");
        settings.setString("execution.checkpointing.interval", "150ms");
        settings.setString("execution.checkpointing.file-merging.enabled", String.valueOf(how.equals("merging")));
        settings.setString("taskmanager.memory.managed.size", "64m");
        if (from != null) {
            for (String key : List.of("execution.savepoint.path", "execution.state-recovery.path"))
                settings.setString(key, "file://" + from);
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings).setParallelism(1);
        SingleOutputStreamOperator<Long> numbers =
                env.fromSource(new NumberSequenceSource(1, NUMBERS), WatermarkStrategy.noWatermarks(), "numbers")
                        .uid(uids + "-source").map(new Numbered()).name("numbered").uid(uids + "-numbered");
        DataStream<String> left = numbers.keyBy(n -> n % 3, Types.LONG).process(new Count("left")).name("left").uid(uids + (swapped ? "-right" : "-left"));
        DataStream<String> right = numbers.keyBy(n -> n % 5, Types.LONG)
                .process(new Count("right")).name("right").uid(uids + (swapped ? "-left" : "-right"));
        left.union(right).sinkTo(FileSink.forRowFormat(new Path("file://" + folder + "/lines"), new SimpleStringEncoder<String>())
                .withRollingPolicy(OnCheckpointRollingPolicy.build()).build()).name("lines").uid(uids + "-sink");
        JobClient client = env.executeAsync("counting");
        if (how.equals("finish")) {
            client.getJobExecutionResult().get();
            return;
        }
        while (reached <= NUMBERS / 2) Thread.sleep(20);
        Thread.sleep(500);
        if (how.equals("checkpoint") || how.equals("merging")) {
            while (find(Paths.get(folder, "checkpoints"), "_metadata").isEmpty()) Thread.sleep(50);
            Thread.sleep(500);
            client.cancel().get();
            Thread.sleep(500);
        } else {
            System.out.println("savepoint " + client.stopWithSavepoint(false, "file://" + folder + "/savepoints",
                    how.equals("native") ? SavepointFormatType.NATIVE : SavepointFormatType.CANONICAL).get());
        }
        System.exit(0);
    }
}
