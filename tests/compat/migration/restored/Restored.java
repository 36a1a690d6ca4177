import java.lang.reflect.Method;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Runs the main class of a jar in a MiniCluster with some options of Flink, for some seconds: CLASS SECONDS KEY=VALUE... */
public class Restored extends StreamExecutionEnvironment {
    static void use(Configuration wanted) {
        initializeContextEnvironment(given -> {
            Configuration all = new Configuration(given);
            all.addAll(wanted);
            return new StreamExecutionEnvironment(all);
        });
    }

    /** The options in KEY=VALUE..., behind the first two arguments, for a MiniCluster. */
    static Configuration options(String[] args) {
        Configuration wanted = new Configuration();
        wanted.setString("execution.target", "local");
        wanted.setString("rest.port", "0");
        for (int at = 2; at < args.length; at++) {
            String[] option = args[at].split("=", 2);
            wanted.setString(option[0], option[1]);
        }
        return wanted;
    }

    static void endAfter(long seconds) {
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
    }

    public static void main(String[] args) throws Exception {
        Configuration wanted = options(args);
        wanted.setString("execution.attached", "true");
        endAfter(Long.parseLong(args[1]));
        use(wanted);
        Method main = Class.forName(args[0]).getMethod("main", String[].class);
        main.invoke(null, (Object) new String[0]);
    }
}
