package shop;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;

/** A collection as a source, which wants its position back when it is restored. */
public class Elements {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromElements("a", "b", "b").uid("words").keyBy(word -> word).reduce((one, other) -> one + other)
                .uid("sums").addSink(new DiscardingSink<>());
        environment.execute("elements");
    }
}
