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
    public static void main(String[] args) throws Exception {
        Configuration wanted = new Configuration();
        wanted.setString("execution.target", "local");
        wanted.setString("rest.port", "0");
        wanted.setString("parallelism.default", "1");
        for (int at = 2; at < args.length; at++) {
            String[] option = args[at].split("=", 2);
            wanted.setString(option[0], option[1]);
        }
        long seconds = Long.parseLong(args[1]);
        Thread watch = new Thread(() -> {
            try {
                Thread.sleep(seconds * 1000);
            } catch (InterruptedException e) {
                return;
            }
            Runtime.getRuntime().halt(0);
        });
        watch.setDaemon(true);
        watch.start();
        EnvironmentSettings settings =
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(wanted).build();
        TableEnvironment tables = TableEnvironment.create(settings);
        String script = new String(Files.readAllBytes(Paths.get(args[0])));
        TableResult last = null;
        for (String statement : script.replaceAll("(?m)^--.*$", "").split(";\\s*(\\n|$)")) {
            Matcher set = Pattern.compile("(?is)\\s*SET\\s+'([^']+)'\\s*=\\s*'([^']*)'\\s*").matcher(statement);
            if (set.matches()) {
                tables.getConfig().set(set.group(1), set.group(2));
            } else if (!statement.trim().isEmpty()) {
                last = tables.executeSql(statement);
            }
        }
        last.await();
    }
}
