package shop;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A program with an environment of its own, which Flink refuses on a cluster. */
public class Elsewhere {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = arguments.length == 0
                ? StreamExecutionEnvironment.createLocalEnvironment(new Configuration())
                : StreamExecutionEnvironment.createRemoteEnvironment(arguments[0], 8081);
        environment.fromSequence(1, 3).print();
        environment.execute("elsewhere");
    }
}
