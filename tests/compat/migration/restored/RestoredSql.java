import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/** Runs an SQL script in a MiniCluster with some options of Flink, for some seconds: SCRIPT SECONDS KEY=VALUE... */
public class RestoredSql {
    /** Submits the statements of a script, and gives what the last one did. What is printed begins with a tag, if there is one. */
    static TableResult run(String path, String tag, Configuration wanted) throws Exception {
        wanted.setString("parallelism.default", "1");
        EnvironmentSettings settings =
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(wanted).build();
        TableEnvironment tables = TableEnvironment.create(settings);
        String script = new String(Files.readAllBytes(Paths.get(path)));
        if (!tag.isEmpty()) {
            script = script.replace("'connector'='print'", "'connector'='print','print-identifier'='@" + tag + "@'");
        }
        TableResult last = null;
        for (String statement : script.replaceAll("(?m)^--.*$", "").split(";\\s*(\\n|$)")) {
            Matcher set = Pattern.compile("(?is)\\s*SET\\s+'([^']+)'\\s*=\\s*'([^']*)'\\s*").matcher(statement);
            if (set.matches()) {
                tables.getConfig().set(set.group(1), set.group(2));
            } else if (!statement.trim().isEmpty()) {
                last = tables.executeSql(statement);
            }
        }
        return last;
    }

    public static void main(String[] args) throws Exception {
        Restored.endAfter(Long.parseLong(args[1]));
        run(args[0], "", Restored.options(args)).await();
    }
}
