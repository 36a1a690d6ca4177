import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A job, and what Kryo writes and reads of a basket: "write" prints its serializer, and a value with an object of the program's in
 * one of Java's where "within" follows; "read" a value that is given.
 */
public class Job {
    public static void main(String[] args) throws Exception {
        TypeSerializer<Basket> serializer =
                new GenericTypeInfo<>(Basket.class).createSerializer(new ExecutionConfig().getSerializerConfig());
        if (args.length == 0) {
            StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
            env.fromData(1, 2).sinkTo(new DiscardingSink<>());
            env.execute();
        } else if (args[0].equals("write")) {
            DataOutputSerializer snapshot = new DataOutputSerializer(64);
            TypeSerializerSnapshot.writeVersionedSnapshot(snapshot, serializer.snapshotConfiguration());
            DataOutputSerializer value = new DataOutputSerializer(64);
            serializer.serialize(Basket.sample(args.length > 1), value);
            System.out.println(hex(snapshot.getCopyOfBuffer()) + " " + hex(value.getCopyOfBuffer()));
        } else {
            byte[] data = new java.math.BigInteger(args[1], 16).toByteArray();
            int start = data.length - args[1].length() / 2;
            System.out.println(serializer.deserialize(
                    new DataInputDeserializer(java.util.Arrays.copyOfRange(data, start, data.length))));
        }
    }

    static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte one : data) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
