import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Restores savepoints into compiled plans on a small cluster of Flink. Reads lines {"statements", "savepoint"}, of which the last
 * statement runs a plan, and writes what became of each: whether it ran, or how it failed.
 */
public final class RestorePlans {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PATIENCE = 20;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            answers.println(JSON.writeValueAsString(restored(JSON.readTree(line))));
            answers.flush();
        }
        System.exit(0);
    }

    static ObjectNode restored(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        JobClient job;
        try {
            TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
            tables.getConfig().set("execution.state-recovery.path", asked.get("savepoint").asText());
            tables.getConfig().set("restart-strategy.type", "none");
            tables.getConfig().set("parallelism.default", "1");
            tables.getConfig().set("taskmanager.memory.managed.size", "128m");
            JobClient submitted = null;
            for (JsonNode statement : asked.get("statements"))
                submitted = tables.executeSql(statement.asText()).getJobClient().orElse(null);
            job = submitted;
        } catch (Throwable error) {
            return answer.put("outcome", "no plan").put("error", told(error));
        }
        try {
            job.getJobExecutionResult().get(PATIENCE, TimeUnit.SECONDS);
            return answer.put("outcome", "ran");
        } catch (TimeoutException error) {
            job.cancel();
            return answer.put("outcome", "runs");
        } catch (ExecutionException | InterruptedException error) {
            return answer.put("outcome", "failed").put("error", told(error));
        }
    }

    static String told(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause())
            text.append(each.getClass().getSimpleName()).append(": ").append(String.valueOf(each.getMessage()).split("\n")[0]).append(" <- ");
        return text.length() > 1200 ? text.substring(text.length() - 1200) : text.toString();
    }
}
