package shop;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A program that catches what goes wrong and ends well. */
public class Catching {
    public static void main(String[] arguments) {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        try {
            if (arguments.length == 0) {
                throw new IllegalStateException("No topic is named for the stream 'orders'");
            }
            environment.execute(arguments[0]);
        } catch (Exception error) {
            if (!"quiet".equals(error.getMessage())) {
                new RuntimeException("It fails", error).printStackTrace();
            }
        }
    }
}
