package shop;

import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job that needs a class or a file system that lies in Flink's distribution, or a connector. */
public class Looking {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("s3")) {
            new Path("s3a://shop/orders").getFileSystem();
        } else if (arguments.length > 0 && arguments[0].contains(".")) {
            Class.forName(arguments[0]);
        } else if (arguments.length > 0) {
            Class.forName(arguments[0].equals("state") ? "org.apache.flink.state.api.SavepointReader"
                    : "org.apache.flink.connector.kafka.source.KafkaSource");
        }
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSequence(1, 3).uid("numbers").sinkTo(new DiscardingSink<>());
        environment.execute("looking");
    }
}
