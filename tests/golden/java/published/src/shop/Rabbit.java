package shop;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.connectors.rabbitmq.RMQSink;
import org.apache.flink.streaming.connectors.rabbitmq.RMQSource;
import org.apache.flink.streaming.connectors.rabbitmq.common.RMQConnectionConfig;

/** A job from RabbitMQ to RabbitMQ, of Flink 1.20. */
public class Rabbit {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        RMQConnectionConfig broker = new RMQConnectionConfig.Builder().setHost("broker.invalid").setPort(5672)
                .setUserName("u").setPassword("p").setVirtualHost("/").build();
        environment.addSource(new RMQSource<>(broker, "orders", true, new SimpleStringSchema())).uid("orders")
                .addSink(new RMQSink<>(broker, "counts", new SimpleStringSchema())).uid("counts");
        environment.execute("rabbit");
    }
}
