package shop;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A program with an environment of its own, which Flink refuses on a cluster. */
public class Elsewhere {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = made(arguments);
        environment.fromSequence(1, 3).print();
        environment.execute("elsewhere");
    }

    static StreamExecutionEnvironment made(String[] arguments) {
        switch (arguments.length) {
            case 0: return StreamExecutionEnvironment.createLocalEnvironment(new Configuration());
            case 1: return StreamExecutionEnvironment.createLocalEnvironment(Integer.parseInt(arguments[0]));
            case 2: return StreamExecutionEnvironment.createRemoteEnvironment(arguments[0], Integer.parseInt(arguments[1]));
            default: return StreamExecutionEnvironment.createRemoteEnvironment(
                    arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        }
    }
}
