import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.connector.sink2.*;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceReader;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.*;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;
import org.apache.flink.streaming.api.functions.co.*;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.triggers.*;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Runs topologies on a small cluster of Flink, one savepoint of each OLD, and restores versions of it: what did each operator find
 * in its states? Reads lines {"seed", "old", "saved", "news": [{"topology", "allow"}]}, with {"files"} where a savepoint of OLD is at
 * hand, and writes one line of answers for each. What is saved (canonical, native or checkpoint) is in a folder that is named, as the
 * files of a checkpoint are where they were written.
 *
 * <p>Every stateful operator keeps its own number (n3: 3) in each of its states. Reducing operators and windows, whose state has no
 * name in a topology, keep -1000 - number in OLD and -2000 - number in NEW; what comes from a source is positive. A source that
 * goes on where it was has found its number. Timers are set for a time that is never reached, which tells the number; windows that
 * keep their records are looked at once.
 */
public class RestoreTopologies {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<String, Set<String>> SEEN = new ConcurrentHashMap<>();
    static final long KEY = 1;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Configuration configuration = new Configuration();
        configuration.setString("taskmanager.memory.managed.size", "256m");
        configuration.setString("taskmanager.memory.network.min", "64m");
        configuration.setString("taskmanager.memory.network.max", "64m");
        configuration.setString("restart-strategy.type", "none");
        configuration.setString("rest.port", "0");
        MiniClusterConfiguration made = new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration).setNumTaskManagers(1).setNumSlotsPerTaskManager(16).build();
        try (MiniCluster cluster = new MiniCluster(made)) {
            cluster.start();
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line; (line = lines.readLine()) != null; ) {
                answers.println(JSON.writeValueAsString(new Case(cluster, Path.of(arguments[0]), JSON.readTree(line)).answer()));
                answers.flush();
            }
        }
        System.exit(0);
    }

    /** One OLD, and the versions that restore its savepoint. */
    static class Case {
        final MiniCluster cluster;
        final Path root;
        final JsonNode given;

        Case(MiniCluster cluster, Path root, JsonNode given) {
            this.cluster = cluster;
            this.root = root;
            this.given = given;
        }

        ObjectNode answer() throws Exception {
            ObjectNode answer = JSON.createObjectNode();
            answer.set("seed", given.get("seed"));
            Path folder = Files.createDirectories(root.resolve(given.get("seed").asText()));
            try {
                String savepoint = given.has("files") ? put(folder) : run(folder, answer);
                if (savepoint == null) return answer;
                ArrayNode restored = answer.putArray("restored");
                for (JsonNode version : given.get("news")) restored.add(restore(version, savepoint));
                return answer;
            } finally {
                try (Stream<Path> all = Files.walk(folder)) {
                    all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
                }
            }
        }

        /** Run OLD until it has kept all that it keeps, and give the place of its savepoint; null with an error in the answer. */
        String run(Path folder, ObjectNode answer) throws Exception {
            JobGraph graph;
            try {
                graph = graphOf(given.get("old"), folder);
            } catch (Exception error) {
                answer.put("error", told(error));
                return null;
            }
            JobID id = cluster.submitJob(graph).get().getJobID();
            String failed = watch(id, kept(given.get("old")), 20_000);
            if (failed != null) {
                answer.put("error", failed);
                return null;
            }
            answer.set("kept", seen());
            String saved = given.path("saved").asText("canonical");
            String savepoint;
            try {
                if (saved.equals("checkpoint")) {
                    cluster.triggerCheckpoint(id).get(20, TimeUnit.SECONDS);
                    savepoint = cluster.triggerCheckpoint(id).get(20, TimeUnit.SECONDS);
                    cluster.cancelJob(id).get();
                } else {
                    SavepointFormatType format = SavepointFormatType.valueOf(saved.toUpperCase());
                    savepoint = cluster.triggerSavepoint(id, folder.toString(), true, format).get(20, TimeUnit.SECONDS);
                }
            } catch (Exception error) {
                cluster.cancelJob(id).get();
                answer.put("error", told(error));
                return null;
            }
            end(id);
            ObjectNode files = answer.putObject("files");
            Path top = saved.equals("checkpoint") ? root : Path.of(java.net.URI.create(savepoint));
            try (Stream<Path> written = Files.walk(saved.equals("checkpoint") ? folder : top)) {
                for (Path file : (Iterable<Path>) written.filter(Files::isRegularFile).sorted()::iterator) {
                    files.put(top.relativize(file).toString(), Base64.getEncoder().encodeToString(Files.readAllBytes(file)));
                }
            }
            return savepoint;
        }

        /** Write down the savepoint that was given, a checkpoint where it was. */
        String put(Path folder) throws Exception {
            Path top = given.path("saved").asText("canonical").equals("checkpoint") ? root : folder;
            Path metadata = null;
            Iterator<Map.Entry<String, JsonNode>> files = given.get("files").fields();
            while (files.hasNext()) {
                Map.Entry<String, JsonNode> file = files.next();
                Path path = top.resolve(file.getKey());
                Files.createDirectories(path.getParent());
                Files.write(path, Base64.getDecoder().decode(file.getValue().asText()));
                if (path.endsWith("_metadata")) metadata = path;
            }
            return metadata.getParent().toUri().toString();
        }

        ObjectNode restore(JsonNode version, String savepoint) throws Exception {
            ObjectNode answer = JSON.createObjectNode();
            JobGraph graph;
            try {
                graph = graphOf(version.get("topology"), null);
            } catch (Exception error) {
                return answer.put("outcome", "refused").put("error", told(error));
            }
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(savepoint, version.get("allow").asBoolean()));
            JobID id = cluster.submitJob(graph).get().getJobID();
            String failed = watch(id, kept(version.get("topology")), 15_000);
            answer.put("outcome", failed == null ? "running" : "failed");
            answer.put("error", failed);
            answer.set("seen", seen());
            if (failed == null) {
                cluster.cancelJob(id).get();
                end(id);
            }
            return answer;
        }

        /** Why a job failed; null once all that it keeps was seen, or the time (milliseconds) is over. */
        String watch(JobID id, Set<String> expected, long patience) throws Exception {
            long since = System.currentTimeMillis();
            long running = 0;
            while (true) {
                JobStatus status = cluster.getJobStatus(id).get();
                if (status.isGloballyTerminalState()) {
                    return cluster.requestJobResult(id).get().getSerializedThrowable()
                            .map(error -> told(error.deserializeError(RestoreTopologies.class.getClassLoader()))).orElse("ended: " + status);
                }
                long now = System.currentTimeMillis();
                boolean all = status == JobStatus.RUNNING && cluster.getExecutionGraph(id).get().getAllExecutionVertices() != null
                        && allRunning(id);
                if (all && running == 0) running = now;
                if (all && SEEN.keySet().containsAll(expected) && now - running > 150) return null;
                if (all && now - running > patience) return null;
                if (now - since > 60_000) return "did not run within 60 s: " + status;
                Thread.sleep(20);
            }
        }

        boolean allRunning(JobID id) throws Exception {
            for (var vertex : cluster.getExecutionGraph(id).get().getAllExecutionVertices()) {
                switch (vertex.getExecutionState()) {
                    case RUNNING: case FINISHED: break;
                    default: return false;
                }
            }
            return true;
        }

        void end(JobID id) throws Exception {
            for (int tries = 0; tries < 1000 && !cluster.getJobStatus(id).get().isGloballyTerminalState(); tries++) Thread.sleep(10);
        }

        ObjectNode seen() {
            ObjectNode all = JSON.createObjectNode();
            new TreeMap<>(SEEN).forEach((state, values) -> {
                ArrayNode list = all.putArray(state);
                new TreeSet<>(values).forEach(list::add);
            });
            return all;
        }

        static final Set<String> WITH_SIDE = Set.of("process", "keyed_process", "connect_process", "connect_keyed_process",
                "broadcast_connect", "keyed_broadcast_connect");

        /** The states of which something is to be seen: windows do not end here, so nothing comes behind them, late or not. */
        Set<String> kept(JsonNode topology) {
            Set<String> labels = new HashSet<>();
            Set<String> dry = new HashSet<>();
            Set<String> silent = new HashSet<>();
            for (JsonNode op : topology.get("ops")) {
                boolean some = op.path("inputs").isEmpty();
                String kind = op.get("kind").asText();
                for (JsonNode input : op.path("inputs")) some |= !(kind.equals("side_output") ? silent : dry).contains(input.asText());
                if (!some || kind.startsWith("window")) dry.add(op.get("id").asText());
                if (!some || !WITH_SIDE.contains(kind)) silent.add(op.get("id").asText());
                if (!some) continue;
                for (JsonNode state : op.path("states")) labels.add(op.get("id").asText() + "|" + state.get("name").asText());
                for (JsonNode clock : op.path("about").path("timers")) labels.add(op.get("id").asText() + "|" + clock.asText() + " timers");
                boolean kept = op.path("window").asText().equals("count_slide") && !op.path("function").asText("reduce").equals("process");
                boolean folds = !kept && !op.path("function").asText("reduce").equals("sum");
                if (kind.equals("window_all")) labels.add(op.get("id").asText() + "|");
                if (Set.of("reduce", "source", "source_unbounded", "source_data").contains(op.get("kind").asText()) || (op.get("kind").asText().equals("window") && folds)) labels.add(op.get("id").asText() + "|");
            }
            return labels;
        }
    }

    static String told(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            text.append(each.getClass().getSimpleName()).append(": ").append(String.valueOf(each.getMessage()).split("\n")[0].replaceAll("file:/\\S+", "file:/savepoint")).append(" <- ");
        }
        return text.toString();
    }

    // Topologies

    /** The job of a topology: OLD's, which has a place for checkpoints, or NEW's, which has none. */
    static JobGraph graphOf(JsonNode topology, Path checkpoints) {
        boolean isNew = checkpoints == null;
        SEEN.clear();
        Configuration configuration = new Configuration();
        if (!isNew) {
            configuration.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
            configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        }
        JsonNode env = topology.path("env");
        env.path("config").fields().forEachRemaining(each -> configuration.setString(each.getKey(), each.getValue().asText()));
        StreamExecutionEnvironment made = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        if (env.has("parallelism")) made.setParallelism(env.get("parallelism").asInt());
        if (env.has("maxParallelism")) made.setMaxParallelism(env.get("maxParallelism").asInt());
        if (env.has("chaining") && !env.get("chaining").asBoolean()) made.disableOperatorChaining();
        made.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        Builder builder = new Builder(made, isNew);
        topology.get("ops").forEach(builder::add);
        StreamGraph graph = made.getStreamGraph();
        return graph.getJobGraph();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static class Builder {
        final StreamExecutionEnvironment env;
        final boolean isNew;
        final Map<String, DataStream<Long>> streams = new HashMap<>();

        Builder(StreamExecutionEnvironment env, boolean isNew) {
            this.env = env;
            this.isNew = isNew;
        }

        void add(JsonNode op) {
            Keeper keeper = new Keeper(op, isNew);
            List<DataStream<Long>> inputs = new ArrayList<>();
            op.path("inputs").forEach(name -> inputs.add(streams.get(name.asText())));
            DataStream<Long> first = inputs.isEmpty() ? null : inputs.get(0);
            DataStream<Long> second = inputs.size() < 2 ? null : inputs.get(1);
            KeyedStream keyed = first instanceof KeyedStream ? (KeyedStream) first : null;
            Object made = make(op, keeper, first, second, keyed, inputs);
            if (made instanceof DataStreamSink) {
                DataStreamSink<?> sink = (DataStreamSink<?>) made;
                if (op.has("name")) sink.name(op.get("name").asText());
                if (op.has("uid")) sink.uid(op.get("uid").asText());
                if (op.has("uidHash")) sink.setUidHash(op.get("uidHash").asText());
                if (op.has("parallelism")) sink.setParallelism(op.get("parallelism").asInt());
                if (op.has("maxParallelism")) sink.setMaxParallelism(op.get("maxParallelism").asInt());
                if (op.has("slotSharingGroup")) sink.slotSharingGroup(op.get("slotSharingGroup").asText());
                if (op.path("chaining").asText().equals("disable")) sink.disableChaining();
                return;
            }
            if (made instanceof SingleOutputStreamOperator) {
                SingleOutputStreamOperator<?> stream = (SingleOutputStreamOperator<?>) made;
                if (op.has("name")) stream.name(op.get("name").asText());
                if (op.has("uid")) stream.uid(op.get("uid").asText());
                if (op.has("uidHash")) stream.setUidHash(op.get("uidHash").asText());
                if (op.has("parallelism")) stream.setParallelism(op.get("parallelism").asInt());
                if (op.has("maxParallelism")) stream.setMaxParallelism(op.get("maxParallelism").asInt());
                if (op.has("slotSharingGroup")) stream.slotSharingGroup(op.get("slotSharingGroup").asText());
                if (op.path("chaining").asText().equals("disable")) stream.disableChaining();
                if (op.path("chaining").asText().equals("new_chain")) stream.startNewChain();
            }
            streams.put(op.get("id").asText(), (DataStream<Long>) made);
        }

        Object make(JsonNode op, Keeper keeper, DataStream<Long> first, DataStream<Long> second, KeyedStream keyed, List<DataStream<Long>> inputs) {
            switch (op.get("kind").asText()) {
                case "source": return env.fromSource(new Numbers(keeper, Boundedness.BOUNDED), WatermarkStrategy.noWatermarks(), "Sequence Source");
                case "source_unbounded":
                    return env.fromSource(new Numbers(keeper, Boundedness.CONTINUOUS_UNBOUNDED), WatermarkStrategy.noWatermarks(), "Unbounded Source");
                case "source_data":
                    return env.fromSource(new Numbers(keeper, Boundedness.BOUNDED), WatermarkStrategy.noWatermarks(), "Collection Source").setParallelism(1);
                case "legacy_source":
                    return op.path("parallelSource").asBoolean() ? env.addSource(new ParallelSource(keeper)) : env.addSource(new OneSource(keeper));
                case "map": return first.map(new Mapping(keeper));
                case "flat_map": return first.flatMap(new FlatMapping(keeper));
                case "filter": return first.filter(new Filtering(keeper));
                case "process": return first.process(new Processing(keeper));
                case "async_wait": return AsyncDataStream.unorderedWait(first, new Waiting(), 10, TimeUnit.SECONDS);
                case "assign_timestamps":
                    return first.assignTimestampsAndWatermarks(WatermarkStrategy.<Long>noWatermarks().withTimestampAssigner((value, at) -> 1L));
                case "key_by": {
                    boolean text = op.path("keyType").asText("long").equals("string");
                    return text ? first.keyBy(new TextKey()) : first.keyBy(new NumberKey());
                }
                case "rebalance": return first.rebalance();
                case "rescale": return first.rescale();
                case "shuffle": return first.shuffle();
                case "forward": return first.forward();
                case "global": return first.global();
                case "broadcast": return first.broadcast();
                case "union": return first.union(inputs.subList(1, inputs.size()).toArray(new DataStream[0]));
                case "side_output": return ((SingleOutputStreamOperator<Long>) first).getSideOutput(Processing.SIDE);
                case "reduce": return keyed.reduce(new Reducing(keeper));
                case "sum": return keyed.sum(0);
                case "keyed_process": return keyed.process(new KeyedProcessing(keeper));
                case "window": return windowed(op, keeper, keyed);
                case "window_all":
                    return first.windowAll(TumblingProcessingTimeWindows.of(Lengths.LONG)).reduce(new Reducing(keeper));
                case "connect_map": return first.connect(second).map(new CoMapping(keeper));
                case "connect_flat_map": return first.connect(second).flatMap(new CoFlatMapping(keeper));
                case "connect_process": return first.connect(second).process(new CoProcessing(keeper));
                case "connect_keyed_process": return first.connect(second).process(new KeyedCoProcessing(keeper));
                case "broadcast_connect": return first.connect(second.broadcast(keeper.broadcasts())).process(new Broadcasting(keeper));
                case "keyed_broadcast_connect":
                    return keyed.connect(second.broadcast(keeper.broadcasts())).process(new KeyedBroadcasting(keeper));
                case "legacy_sink": return first.addSink(new Sinking(keeper));
                case "print": return first.print();
                case "sink": return first.sinkTo(op.path("topology").asText("writer").equals("committer") ? new Committing() : new DiscardingSink<>());
                default: throw new IllegalArgumentException("not known here: " + op);
            }
        }

        Object windowed(JsonNode op, Keeper keeper, KeyedStream keyed) {
            WindowedStream windows;
            boolean looked = op.path("function").asText("reduce").equals("process");
            switch (op.path("window").asText("tumbling_processing_time")) {
                case "tumbling_processing_time":
                    windows = keyed.window(TumblingProcessingTimeWindows.of(Lengths.LONG));
                    if (looked) windows = windows.trigger(new Looking(ProcessingTimeTrigger.create(), keeper));
                    break;
                case "tumbling_event_time":
                    windows = keyed.window(TumblingEventTimeWindows.of(Lengths.LONG));
                    if (looked) windows = windows.trigger(new Looking(EventTimeTrigger.create(), keeper));
                    break;
                case "sliding_event_time":
                    windows = keyed.window(SlidingEventTimeWindows.of(Lengths.LONG, Lengths.HALF));
                    if (looked) windows = windows.trigger(new Looking(EventTimeTrigger.create(), keeper));
                    break;
                case "session_processing_time":
                    windows = keyed.window(ProcessingTimeSessionWindows.withGap(Lengths.LONG));
                    if (looked) windows = windows.trigger(new Looking(ProcessingTimeTrigger.create(), keeper));
                    break;
                case "count":
                    windows = keyed.countWindow(1_000_000);
                    if (looked) windows = windows.trigger(new Looking(PurgingTrigger.of(CountTrigger.of(1_000_000)), keeper));
                    break;
                default:
                    windows = keyed.countWindow(1_000_000, 500_000);
                    if (looked) windows = windows.trigger(new Looking(CountTrigger.of(500_000), keeper));
            }
            windows = windows.sideOutputLateData(Processing.SIDE);
            switch (op.path("function").asText("reduce")) {
                case "reduce": return windows.reduce(new Reducing(keeper));
                case "aggregate": return windows.aggregate(new Aggregating(keeper));
                case "sum": return windows.sum(0);
                default: return windows.process(new WindowProcessing(keeper));
            }
        }
    }

    /** Lengths of windows that no run sees the end of. */
    static class Lengths {
        static final java.time.Duration LONG = java.time.Duration.ofDays(365);
        static final java.time.Duration HALF = java.time.Duration.ofDays(365L).dividedBy(2);
    }

    // Sources and sinks

    /** The numbers from 0, two hundred a second, as the sequence of Flink gives them. */
    static class Numbers extends NumberSequenceSource {
        final Keeper keeper;
        final Boundedness told;

        Numbers(Keeper keeper, Boundedness told) {
            super(0, 1_000_000_000);
            this.keeper = keeper;
            this.told = told;
        }

        @Override public Boundedness getBoundedness() { return told; }

        @Override public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
                SplitEnumeratorContext<NumberSequenceSplit> context) {
            keeper.see("", List.of());
            return super.createEnumerator(context);
        }

        @Override public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> restoreEnumerator(
                SplitEnumeratorContext<NumberSequenceSplit> context, Collection<NumberSequenceSplit> checkpoint) {
            keeper.see("", List.of(String.valueOf(keeper.number)));
            return super.restoreEnumerator(context, checkpoint);
        }

        @Override public SourceReader<Long, NumberSequenceSplit> createReader(SourceReaderContext context) {
            return new IteratorSourceReader<Long, org.apache.flink.util.NumberSequenceIterator, NumberSequenceSplit>(context) {
                @Override public InputStatus pollNext(ReaderOutput<Long> output) {
                    pause();
                    return super.pollNext(output);
                }
            };
        }
    }

    static void pause() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    static class OneSource extends RichSourceFunction<Long> implements CheckpointedFunction {
        final Keeper keeper;
        volatile boolean on = true;
        OneSource(Keeper keeper) { this.keeper = keeper; }
        @Override public void run(SourceContext<Long> context) throws Exception { emit(context, keeper, () -> on); }
        @Override public void cancel() { on = false; }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class ParallelSource extends RichParallelSourceFunction<Long> implements CheckpointedFunction {
        final Keeper keeper;
        volatile boolean on = true;
        ParallelSource(Keeper keeper) { this.keeper = keeper; }
        @Override public void run(SourceContext<Long> context) throws Exception { emit(context, keeper, () -> on); }
        @Override public void cancel() { on = false; }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    interface Running { boolean on(); }

    static void emit(org.apache.flink.streaming.api.functions.source.legacy.SourceFunction.SourceContext<Long> context, Keeper keeper, Running running) throws Exception {
        for (long number = 0; running.on(); number++) {
            synchronized (context.getCheckpointLock()) {
                keeper.touch();
                context.collect(number);
            }
            Thread.sleep(5);
        }
    }

    static class Sinking extends RichSinkFunction<Long> implements CheckpointedFunction {
        final Keeper keeper;
        Sinking(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void invoke(Long value, Context context) throws Exception { keeper.touch(); }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    /** A sink with a writer and a committer, which commits nothing. */
    static class Committing implements Sink<Long>, SupportsCommitter<String> {
        @Override public SinkWriter<Long> createWriter(WriterInitContext context) { return new Writing(); }
        @Override public Committer<String> createCommitter(CommitterInitContext context) {
            return new Committer<String>() {
                @Override public void commit(Collection<CommitRequest<String>> requests) {}
                @Override public void close() {}
            };
        }
        @Override public SimpleVersionedSerializer<String> getCommittableSerializer() {
            return new SimpleVersionedSerializer<String>() {
                @Override public int getVersion() { return 1; }
                @Override public byte[] serialize(String text) { return text.getBytes(); }
                @Override public String deserialize(int version, byte[] bytes) { return new String(bytes); }
            };
        }
    }

    static class Writing implements CommittingSinkWriter<Long, String> {
        @Override public void write(Long value, Context context) {}
        @Override public void flush(boolean end) {}
        @Override public Collection<String> prepareCommit() { return List.of("some"); }
        @Override public void close() {}
    }

    // Functions

    static class NumberKey implements KeySelector<Long, Long> {
        @Override public Long getKey(Long value) { return KEY; }
    }

    static class TextKey implements KeySelector<Long, String> {
        @Override public String getKey(Long value) { return "k"; }
    }

    static class Mapping extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        Mapping(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public Long map(Long value) throws Exception { keeper.touch(); return value; }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class FlatMapping extends RichFlatMapFunction<Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        FlatMapping(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void flatMap(Long value, Collector<Long> out) throws Exception { keeper.touch(); out.collect(value); }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class Filtering extends RichFilterFunction<Long> implements CheckpointedFunction {
        final Keeper keeper;
        Filtering(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public boolean filter(Long value) throws Exception { keeper.touch(); return true; }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class Processing extends ProcessFunction<Long, Long> implements CheckpointedFunction {
        static final OutputTag<Long> SIDE = new OutputTag<Long>("side", Types.LONG);
        final Keeper keeper;
        Processing(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            out.collect(value);
            context.output(SIDE, value);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class KeyedProcessing extends KeyedProcessFunction<Object, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        KeyedProcessing(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class Waiting extends RichAsyncFunction<Long, Long> {
        @Override public void asyncInvoke(Long value, ResultFuture<Long> result) { result.complete(List.of(value)); }
    }

    static class CoMapping extends RichCoMapFunction<Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        CoMapping(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public Long map1(Long value) throws Exception { keeper.touch(); return value; }
        @Override public Long map2(Long value) throws Exception { keeper.touch(); return value; }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class CoFlatMapping extends RichCoFlatMapFunction<Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        CoFlatMapping(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void flatMap1(Long value, Collector<Long> out) throws Exception { keeper.touch(); out.collect(value); }
        @Override public void flatMap2(Long value, Collector<Long> out) throws Exception { keeper.touch(); out.collect(value); }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class CoProcessing extends CoProcessFunction<Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        CoProcessing(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement1(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void processElement2(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class KeyedCoProcessing extends KeyedCoProcessFunction<Object, Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        KeyedCoProcessing(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement1(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void processElement2(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class Broadcasting extends BroadcastProcessFunction<Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        Broadcasting(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement(Long value, ReadOnlyContext context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.look(context::getBroadcastState);
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void processBroadcastElement(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.look(context::getBroadcastState);
            keeper.spread(context::getBroadcastState);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class KeyedBroadcasting extends KeyedBroadcastProcessFunction<Object, Long, Long, Long> implements CheckpointedFunction {
        final Keeper keeper;
        KeyedBroadcasting(Keeper keeper) { this.keeper = keeper; }
        @Override public void open(OpenContext context) { keeper.open(getRuntimeContext()); }
        @Override public void processElement(Long value, ReadOnlyContext context, Collector<Long> out) throws Exception {
            keeper.touch();
            keeper.time(context.timerService());
            keeper.look(context::getBroadcastState);
            out.collect(value);
            context.output(Processing.SIDE, value);
        }
        @Override public void processBroadcastElement(Long value, Context context, Collector<Long> out) throws Exception {
            keeper.look(context::getBroadcastState);
            keeper.spread(context::getBroadcastState);
        }
        @Override public void initializeState(FunctionInitializationContext context) throws Exception { keeper.initialize(context); }
        @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { keeper.snapshot(); }
    }

    static class Reducing implements ReduceFunction<Long> {
        final Keeper keeper;
        Reducing(Keeper keeper) { this.keeper = keeper; }
        @Override public Long reduce(Long kept, Long value) { return keeper.folded(kept); }
    }

    static class Aggregating implements AggregateFunction<Long, Long, Long> {
        final Keeper keeper;
        Aggregating(Keeper keeper) { this.keeper = keeper; }
        @Override public Long createAccumulator() { return 0L; }
        @Override public Long add(Long value, Long kept) { return keeper.folded(kept); }
        @Override public Long getResult(Long kept) { return kept; }
        @Override public Long merge(Long one, Long other) { return one; }
    }

    static class WindowProcessing
            extends org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction<Long, Long, Object, Window> {
        final Keeper keeper;
        WindowProcessing(Keeper keeper) { this.keeper = keeper; }
        @Override public void process(Object key, Context context, Iterable<Long> values, Collector<Long> out) {
            int count = 0;
            for (Long value : values) count++;
            keeper.see("", count > 1 ? List.of(String.valueOf(keeper.number)) : List.of());
        }
    }

    /** A trigger that has the records of a window looked at once in NEW, with the first that comes, and else does what another one does. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static class Looking extends Trigger<Long, Window> {
        final Trigger trigger;
        final Keeper keeper;
        transient boolean looked;
        Looking(Trigger trigger, Keeper keeper) { this.trigger = trigger; this.keeper = keeper; }
        @Override public TriggerResult onElement(Long value, long time, Window window, TriggerContext context) throws Exception {
            TriggerResult result = trigger.onElement(value, time, window, context);
            if (looked) return result;
            looked = true;
            if (keeper.isNew) return TriggerResult.FIRE;
            keeper.see("", List.of());
            return result;
        }
        @Override public TriggerResult onProcessingTime(long time, Window window, TriggerContext context) throws Exception {
            return trigger.onProcessingTime(time, window, context);
        }
        @Override public TriggerResult onEventTime(long time, Window window, TriggerContext context) throws Exception {
            return trigger.onEventTime(time, window, context);
        }
        @Override public boolean canMerge() { return trigger.canMerge(); }
        @Override public void onMerge(Window window, OnMergeContext context) throws Exception { trigger.onMerge(window, context); }
        @Override public void clear(Window window, TriggerContext context) throws Exception { trigger.clear(window, context); }
    }

    // States

    interface Broadcasts<S> { S get(MapStateDescriptor<Object, Object> descriptor) throws Exception; }

    /** The states of an operator, each of which holds the operator's number. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static class Keeper implements Serializable {
        final String label;
        final long number;
        final boolean isNew;
        final List<String[]> states = new ArrayList<>();
        transient Map<String, State> keyed;
        transient Map<String, ListState<Object>> listed;
        final List<String> clocks = new ArrayList<>();
        transient boolean touched, looked, timed;
        transient boolean folded;

        Keeper(JsonNode op, boolean isNew) {
            label = op.get("id").asText();
            number = Long.parseLong(label.substring(1));
            this.isNew = isNew;
            for (JsonNode clock : op.path("about").path("timers")) clocks.add(clock.asText());
            for (JsonNode state : op.path("states")) {
                states.add(new String[] {state.get("name").asText(), state.get("kind").asText(), state.get("scope").asText(), state.path("type").asText("Long"), state.path("ttl").asText("")});
            }
        }

        static TypeInformation typeOf(String type) {
            switch (type.trim()) {
                case "Long": return Types.LONG;
                case "Integer": return Types.INT;
                case "Double": return Types.DOUBLE;
                case "Float": return Types.FLOAT;
                case "Boolean": return Types.BOOLEAN;
                case "String": return Types.STRING;
                default: throw new IllegalArgumentException(type);
            }
        }

        Object valueOf(String type) {
            switch (type.trim()) {
                case "Long": return number;
                case "Integer": return (int) number;
                case "Double": return (double) number;
                case "Float": return (float) number;
                case "Boolean": return true;
                default: return String.valueOf(number);
            }
        }

        static String shown(Object value) {
            return value instanceof Double || value instanceof Float ? String.valueOf(((Number) value).longValue()) : String.valueOf(value);
        }

        static String[] partsOf(String map) { return map.substring(4, map.length() - 1).split(","); }

        MapStateDescriptor<Object, Object> map(String[] state) {
            String[] parts = partsOf(state[3]);
            return new MapStateDescriptor<>(state[0], typeOf(parts[0]), typeOf(parts[1]));
        }

        MapStateDescriptor<?, ?>[] broadcasts() {
            return states.stream().filter(state -> state[2].equals("broadcast")).map(this::map).toArray(MapStateDescriptor[]::new);
        }

        void open(RuntimeContext context) {
            keyed = new LinkedHashMap<>();
            for (String[] state : states) {
                if (!state[2].equals("keyed")) continue;
                switch (state[1]) {
                    case "value": keyed.put(state[0], context.getState(lasting(state, new ValueStateDescriptor<>(state[0], typeOf(state[3]))))); break;
                    case "list": keyed.put(state[0], context.getListState(lasting(state, new ListStateDescriptor<>(state[0], typeOf(state[3]))))); break;
                    case "map": keyed.put(state[0], context.getMapState(lasting(state, map(state)))); break;
                    case "reducing":
                        keyed.put(state[0], context.getReducingState(lasting(state, new ReducingStateDescriptor<Object>(state[0], (one, other) -> other, typeOf(state[3])))));
                        break;
                    default:
                        keyed.put(state[0], context.getAggregatingState(lasting(state, new AggregatingStateDescriptor<Object, Object, Object>(state[0], new Last(), typeOf(state[3])))));
                }
            }
        }

        static <D extends StateDescriptor> D lasting(String[] state, D descriptor) {
            if (!state[4].isEmpty()) descriptor.enableTimeToLive(StateTtlConfig.newBuilder(java.time.Duration.ofMillis(Long.parseLong(state[4]))).build());
            return descriptor;
        }

        void initialize(FunctionInitializationContext context) throws Exception {
            listed = new LinkedHashMap<>();
            for (String[] state : states) {
                if (!Set.of("operator", "union").contains(state[2])) continue;
                ListStateDescriptor descriptor = new ListStateDescriptor<>(state[0], typeOf(state[3]));
                ListState<Object> list = state[2].equals("union")
                        ? context.getOperatorStateStore().getUnionListState(descriptor) : context.getOperatorStateStore().getListState(descriptor);
                listed.put(state[0], list);
                List<String> values = new ArrayList<>();
                for (Object value : list.get()) values.add(shown(value));
                see(state[0], values);
            }
        }

        void snapshot() throws Exception {
            for (String[] state : states) {
                if (listed.containsKey(state[0])) listed.get(state[0]).update(List.of(valueOf(state[3])));
            }
        }

        void see(String state, Collection<String> values) {
            Set<String> all = SEEN.computeIfAbsent(label + "|" + state, name -> ConcurrentHashMap.newKeySet());
            if (values.isEmpty()) all.add("EMPTY");
            all.addAll(values);
        }

        void touch() throws Exception {
            if (touched || keyed == null) return;
            touched = true;
            for (String[] state : states) {
                State each = keyed.get(state[0]);
                if (each == null) continue;
                List<String> values = new ArrayList<>();
                if (each instanceof MapState) {
                    for (Object value : ((MapState<Object, Object>) each).values()) values.add(shown(value));
                } else if (each instanceof ListState) {
                    for (Object value : ((ListState<Object>) each).get()) values.add(shown(value));
                } else {
                    Object value = each instanceof ValueState ? ((ValueState<Object>) each).value() : ((AppendingState<Object, Object>) each).get();
                    if (value != null) values.add(shown(value));
                }
                see(state[0], values);
                String[] parts = state[3].startsWith("Map<") ? partsOf(state[3]) : new String[] {state[3]};
                if (each instanceof MapState) ((MapState<Object, Object>) each).put(valueOf(parts[0]), valueOf(parts[1]));
                else if (each instanceof ListState) ((ListState<Object>) each).update(List.of(valueOf(parts[0])));
                else if (each instanceof ValueState) ((ValueState<Object>) each).update(valueOf(parts[0]));
                else ((AppendingState<Object, Object>) each).add(valueOf(parts[0]));
            }
        }

        static final long FAR = 4_102_444_800_000L;

        /** Look for the timers of the key, and set them in OLD. */
        void time(TimerService service) throws Exception {
            if (timed || clocks.isEmpty()) return;
            timed = true;
            java.lang.reflect.Field field = service.getClass().getDeclaredField("internalTimerService");
            field.setAccessible(true);
            InternalTimerService<?> timers = (InternalTimerService<?>) field.get(service);
            for (String clock : clocks) {
                Set<String> found = new TreeSet<>();
                if (clock.equals("event")) timers.forEachEventTimeTimer((namespace, time) -> found.add(String.valueOf(time - FAR)));
                else timers.forEachProcessingTimeTimer((namespace, time) -> found.add(String.valueOf(time - FAR)));
                see(clock + " timers", found);
                if (isNew) continue;
                if (clock.equals("event")) service.registerEventTimeTimer(FAR + number);
                else service.registerProcessingTimeTimer(FAR + number);
            }
        }

        <S extends ReadOnlyBroadcastState<Object, Object>> void look(Broadcasts<S> broadcasts) throws Exception {
            if (looked || !isNew) return;
            looked = true;
            for (String[] state : states) {
                if (!state[2].equals("broadcast")) continue;
                List<String> values = new ArrayList<>();
                for (Map.Entry<Object, Object> entry : broadcasts.get(map(state)).immutableEntries()) values.add(shown(entry.getValue()));
                see(state[0], values);
            }
        }

        void spread(Broadcasts<BroadcastState<Object, Object>> broadcasts) throws Exception {
            for (String[] state : states) {
                if (!state[2].equals("broadcast")) continue;
                String[] parts = partsOf(state[3]);
                broadcasts.get(map(state)).put(valueOf(parts[0]), valueOf(parts[1]));
                if (!isNew) see(state[0], List.of());
            }
        }

        /** What an operator that folds keeps from now on; what it kept is told once. */
        Long folded(Long kept) {
            if (!folded) {
                folded = true;
                see("", kept < 0 && kept > -2000 ? List.of(String.valueOf(-1000 - kept)) : List.of());
            }
            return (isNew ? -2000L : -1000L) - number;
        }
    }

    static class Last implements AggregateFunction<Object, Object, Object> {
        @Override public Object createAccumulator() { return null; }
        @Override public Object add(Object value, Object kept) { return value; }
        @Override public Object getResult(Object kept) { return kept; }
        @Override public Object merge(Object one, Object other) { return one; }
    }
}
