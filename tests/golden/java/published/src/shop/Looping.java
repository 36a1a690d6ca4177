package shop;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.IterativeStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;

/** A loop, which Flink had until 1.20: what feeds back is no operator. */
public class Looping {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        IterativeStream<Long> loop = environment.fromSequence(1, 3).keyBy(value -> value).reduce(Long::sum).uid("sums")
                .iterate(1000);
        DataStream<Long> less = loop.map(value -> value - 1).uid("less");
        loop.closeWith(less.filter(value -> value > 0));
        less.addSink(new DiscardingSink<>());
        environment.execute("looping");
    }
}
