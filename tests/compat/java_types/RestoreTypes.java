package places;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * Runs OLD of pairs of jobs on a small cluster of Flink and restores NEW from what OLD left: {@code RestoreTypes OLD.jar NEW.jar}.
 * Reads lines {"main", "saved"}, and writes what became of each: the outcome, what was found by key, and what should have been.
 */
public final class RestoreTypes {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long PATIENCE = 12_000;

    public static void main(String[] jars) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Configuration configuration = new Configuration();
        configuration.setString("taskmanager.memory.managed.size", "256m");
        configuration.setString("taskmanager.memory.network.min", "64m");
        configuration.setString("taskmanager.memory.network.max", "64m");
        configuration.setString("restart-strategy.type", "none");
        configuration.setString("rest.port", "0");
        configuration.setString("classloader.parent-first-patterns.additional", "places.");
        configuration.setString("classloader.check-leaked-classloader", "false");
        MiniClusterConfiguration made = new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build();
        try (MiniCluster cluster = new MiniCluster(made)) {
            cluster.start();
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line; (line = lines.readLine()) != null; ) {
                JsonNode asked = JSON.readTree(line);
                Path folder = Files.createTempDirectory("compat-types");
                answers.println(JSON.writeValueAsString(restored(cluster, jars, asked, folder)));
                answers.flush();
                try (Stream<Path> all = Files.walk(folder)) {
                    all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
                }
            }
        }
        System.exit(0);
    }

    static ObjectNode restored(MiniCluster cluster, String[] jars, JsonNode asked, Path folder) {
        ObjectNode answer = JSON.createObjectNode();
        String savepoint;
        try {
            savepoint = left(cluster, graph(jars[0], asked, folder), asked.get("saved").asText(), folder);
        } catch (Throwable error) {
            return answer.put("outcome", "no savepoint").put("error", told(error));
        }
        try {
            JobGraph graph = graph(jars[1], asked, null);
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(savepoint));
            JobID id = cluster.submitJob(graph).get().getJobID();
            watch(cluster, id);
            cluster.cancelJob(id).get();
            end(cluster, id);
            answer.put("outcome", "running");
        } catch (Throwable error) {
            answer.put("outcome", "failed").put("error", told(error));
        }
        answer.set("seen", JSON.valueToTree(new TreeMap<>(Places.SEEN)));
        answer.set("expected", JSON.valueToTree(new TreeMap<>(Places.EXPECTED)));
        return answer;
    }

    /** Run OLD until it has kept its values; the place of what it left. */
    static String left(MiniCluster cluster, JobGraph graph, String saved, Path folder) throws Exception {
        JobID id = cluster.submitJob(graph).get().getJobID();
        try {
            watch(cluster, id);
            if (!saved.equals("checkpoint"))
                return cluster.triggerSavepoint(id, folder.toUri().toString(), true, SavepointFormatType.valueOf(saved.toUpperCase()))
                        .get(20, TimeUnit.SECONDS);
            cluster.triggerCheckpoint(id).get(20, TimeUnit.SECONDS);
            return cluster.triggerCheckpoint(id).get(20, TimeUnit.SECONDS);
        } finally {
            if (!cluster.getJobStatus(id).get().isGloballyTerminalState()) cluster.cancelJob(id).get();
            end(cluster, id);
        }
    }

    /** Wait until a job has kept or found the three values, or nothing more of them comes; what it fails with is thrown. */
    static void watch(MiniCluster cluster, JobID id) throws Failed {
        try {
            long until = System.currentTimeMillis() + PATIENCE;
            while (Places.SEEN.size() < 3 && System.currentTimeMillis() < until
                    && !cluster.getJobStatus(id).get().isGloballyTerminalState()) Thread.sleep(20);
            Thread.sleep(100);
            if (!cluster.getJobStatus(id).get().isGloballyTerminalState()) {
                if (Places.SEEN.isEmpty() && cluster.getJobStatus(id).get() != JobStatus.RUNNING) throw new Failed("not running");
                return;
            }
            var failed = cluster.requestJobResult(id).get().getSerializedThrowable();
            if (failed.isPresent()) throw new Failed(told(failed.get().deserializeError(RestoreTypes.class.getClassLoader())));
            throw new Failed("the job ended");
        } catch (java.util.concurrent.ExecutionException | InterruptedException error) {
            throw new Failed(told(error));
        }
    }

    static class Failed extends Exception {
        Failed(String message) { super(message); }
    }

    static void end(MiniCluster cluster, JobID id) throws Exception {
        for (int tries = 0; tries < 1000 && !cluster.getJobStatus(id).get().isGloballyTerminalState(); tries++) Thread.sleep(10);
    }

    /** The graph of a main class: OLD's, which has a place for checkpoints, or NEW's, which has none. */
    static JobGraph graph(String jar, JsonNode asked, Path checkpoints) throws Exception {
        Places.restored = checkpoints == null;
        Places.SEEN.clear();
        Places.EXPECTED.clear();
        URLClassLoader loader = new URLClassLoader(new URL[] {new File(jar).toURI().toURL()}, RestoreTypes.class.getClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        Configuration given = new Configuration();
        asked.path("options").fields().forEachRemaining(each -> given.setString(each.getKey(), each.getValue().asText()));
        if (checkpoints != null) {
            given.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
            given.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        }
        StreamGraph graph = Built.of(loader.loadClass(asked.get("main").asText()), given);
        JobGraph made = graph.getJobGraph(loader, JobID.generate());
        made.addJar(new org.apache.flink.core.fs.Path(new File(jar).toURI()));
        return made;
    }

    /** An environment that keeps the graph and runs nothing. */
    static class Built extends StreamExecutionEnvironment {
        private StreamGraph graph;

        Built(Configuration configuration) { super(configuration, Thread.currentThread().getContextClassLoader()); }

        static StreamGraph of(Class<?> job, Configuration given) throws Exception {
            Built[] made = new Built[1];
            initializeContextEnvironment(own -> {
                Configuration both = new Configuration(given);
                both.addAll(own);
                return made[0] = new Built(both);
            });
            try {
                job.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
            } finally {
                resetContextEnvironment();
            }
            return made[0].graph;
        }

        @Override public JobClient executeAsync(StreamGraph graph) {
            this.graph = graph;
            return null;
        }

        @Override public org.apache.flink.api.common.JobExecutionResult execute(StreamGraph graph) {
            this.graph = graph;
            return null;
        }
    }

    static String told(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause())
            text.append(each.getClass().getSimpleName()).append(": ").append(String.valueOf(each.getMessage()).split("\n")[0]).append(" <- ");
        return text.length() > 900 ? text.substring(text.length() - 900) : text.toString();
    }
}
