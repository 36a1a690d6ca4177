package shop;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.KafkaSinkBuilder;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** From Kafka to Kafka: the broker, then "once" for an exactly-once sink, then "more" for another operator. */
public class Piped {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.enableCheckpointing(1000);
        KafkaSource<String> source = KafkaSource.<String>builder()
                .setBootstrapServers(arguments[0]).setTopics("orders").setGroupId("shop")
                .setValueOnlyDeserializer(new SimpleStringSchema()).build();
        DataStream<String> orders =
                environment.fromSource(source, WatermarkStrategy.noWatermarks(), "orders").uid("orders");
        if (arguments.length > 2) {
            orders = orders.keyBy(value -> value).reduce((one, other) -> other).uid("last");
        }
        KafkaSinkBuilder<String> sink = KafkaSink.<String>builder()
                .setBootstrapServers(arguments[0])
                .setRecordSerializer(KafkaRecordSerializationSchema.builder()
                        .setTopic("shipped").setValueSerializationSchema(new SimpleStringSchema()).build());
        if (arguments.length > 1 && arguments[1].equals("once")) {
            sink.setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE).setTransactionalIdPrefix("shop");
        }
        orders.sinkTo(sink.build()).uid("shipped");
        environment.execute("piped");
    }
}
