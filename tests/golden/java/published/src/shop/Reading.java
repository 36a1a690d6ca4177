package shop;

import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Properties;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job whose settings lie on the class path, or in a file. */
public class Reading {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (InputStream stream = arguments.length > 0 ? new FileInputStream(arguments[0])
                : Reading.class.getClassLoader().getResourceAsStream("shop.properties")) {
            settings.load(stream);
        }
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSequence(1, 3).sinkTo(new DiscardingSink<>());
        environment.execute(settings.getProperty("name"));
    }
}
