import java.lang.reflect.Constructor;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumStateSerializer;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.kafka.common.TopicPartition;

/**
 * Prints what Kafka's enumerator knows, as its serializer writes it: a name, the serializer's version, and bytes. What it is
 * made of differs from version to version of the connector, and is in part not public.
 */
public class Enumerators {
    static final String IN = "org.apache.flink.connector.kafka.source.enumerator.";

    static Object made(String type, Object... given) throws Exception {
        for (Constructor<?> one : Class.forName(type).getDeclaredConstructors()) {
            if (one.getParameterCount() == given.length && fits(one.getParameterTypes(), given)) {
                one.setAccessible(true);
                return one.newInstance(given);
            }
        }
        return null;
    }

    static boolean fits(Class<?>[] wanted, Object[] given) {
        for (int i = 0; i < given.length; i++)
            if (!(wanted[i].isInstance(given[i]) || (wanted[i] == boolean.class && given[i] instanceof Boolean))) return false;
        return true;
    }

    static boolean there(String type) {
        try {
            Class.forName(type);
            return true;
        } catch (ClassNotFoundException none) {
            return false;
        }
    }

    /** A partition as this version of the connector keeps it; its number of a status is 0 where a reader has it. */
    static Object kept(String topic, int partition, long start, int status) throws Exception {
        TopicPartition where = new TopicPartition(topic, partition);
        if (!there(IN + "AssignmentStatus")) return where;
        Object told = Class.forName(IN + "AssignmentStatus").getEnumConstants()[status];
        if (there(IN + "SplitAndAssignmentStatus"))
            return made(IN + "SplitAndAssignmentStatus", new KafkaPartitionSplit(where, start), told);
        return made(IN + "TopicPartitionAndAssignmentStatus", where, told);
    }

    static void say(String name, boolean found, Object... partitions) throws Exception {
        Set<Object> all = new LinkedHashSet<>(java.util.Arrays.asList(partitions));
        Object state = there(IN + "AssignmentStatus")
                ? made(IN + "KafkaSourceEnumState", all, found)
                : made(IN + "KafkaSourceEnumState", all);
        KafkaSourceEnumStateSerializer serializer = new KafkaSourceEnumStateSerializer();
        StringBuilder hex = new StringBuilder();
        for (byte b : serializer.serialize((KafkaSourceEnumState) state)) hex.append(String.format("%02x", b));
        System.out.println("[\"" + name + "\", " + serializer.getVersion() + ", \"" + hex + "\"]");
    }

    public static void main(String[] args) throws Exception {
        say("nothing", false);
        say("before", true, kept("orders", 0, -2, 0), kept("orders", 41, -2, 0), kept("a-b_c.d", 3, -2, 1));
        say("moved", true, kept("purchases", 0, -2, 0), kept("purchases", 41, -2, 0), kept("a-b_c.d", 4, 77, 1));
    }
}
