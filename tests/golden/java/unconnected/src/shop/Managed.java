package shop;

import com.amazonaws.services.kinesisanalytics.runtime.KinesisAnalyticsRuntime;
import java.util.Properties;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job whose uid AWS's Managed Service for Apache Flink gives. */
public class Managed {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        Properties shop = KinesisAnalyticsRuntime.getApplicationProperties().get("Shop");
        environment.fromSequence(1, 3).keyBy(value -> value).reduce(Long::sum).uid(shop.getProperty("uid"))
                .sinkTo(new DiscardingSink<>());
        environment.execute(shop.getProperty("name"));
    }
}
