package shop;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** A job that logs with what lies beside Flink in a cluster. */
public class Logging {
    private static final Logger LOG = LogManager.getLogger(Logging.class);

    public static void main(String[] arguments) throws Exception {
        LOG.info("The job is built.");
        org.apache.log4j.Logger.getLogger(Logging.class).info("So it is.");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSequence(1, 3).keyBy(value -> value).reduce(Long::sum).uid("sums").sinkTo(new DiscardingSink<>());
        environment.execute("logging");
    }
}
