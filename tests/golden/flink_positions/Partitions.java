import java.util.Optional;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplitSerializer;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.kafka.common.TopicPartition;

/** Prints partitions as Kafka's source keeps them in its reader's state: topic, partition, start, end (or none) and bytes. */
public class Partitions {
    static void say(String topic, int partition, long start, Long end) throws Exception {
        TopicPartition where = new TopicPartition(topic, partition);
        KafkaPartitionSplit split = end == null
                ? new KafkaPartitionSplit(where, start)
                : new KafkaPartitionSplit(where, start, end);
        StringBuilder hex = new StringBuilder();
        for (byte b : SimpleVersionedSerialization.writeVersionAndSerialize(new KafkaPartitionSplitSerializer(), split))
            hex.append(String.format("%02x", b));
        System.out.println("[\"" + topic + "\", " + partition + ", " + start + ", " + end + ", \"" + hex + "\"]");
    }

    public static void main(String[] args) throws Exception {
        say("orders", 0, 0, null);
        say("orders", 41, 57, null);
        say("a-b_c.d", 3, 9_000_000_000L, 9_000_000_001L);
        say("orders", 1, 12, 12L);
        say("orders", 2, KafkaPartitionSplit.EARLIEST_OFFSET, null);
        say("orders", 4, KafkaPartitionSplit.LATEST_OFFSET, null);
        say("orders", 5, KafkaPartitionSplit.COMMITTED_OFFSET, null);
        say("orders", 6, 5, KafkaPartitionSplit.LATEST_OFFSET);
        say("orders", 7, 5, KafkaPartitionSplit.COMMITTED_OFFSET);
    }
}
