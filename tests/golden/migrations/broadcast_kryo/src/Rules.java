import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps rules, which Kryo writes, in a broadcast state, and prints them. With a folder it ends with a savepoint there. */
public class Rules {
    static final MapStateDescriptor<String, RULE> RULES = new MapStateDescriptor<>("rules", Types.STRING, Types.GENERIC(RULE.class));

    public static class RULE {
        private long limit;
        private String name;
        private Object more;
        private RULE() {}

        static RULE of(long number) {
            RULE made = new RULE();
            made.limit = number * 100;
            made.name = "rule" + number;
            made.more = number == 2 ? of(20) : null;
            return made;
        }

        @Override public String toString() { return name + " " + limit + (more == null ? "" : " " + more); }
    }

    public static class Kept extends BroadcastProcessFunction<Long, Long, Long> {
        @Override public void processElement(Long number, ReadOnlyContext context, Collector<Long> out) throws Exception {
            Map<String, String> seen = new TreeMap<>();
            for (Map.Entry<String, RULE> one : context.getBroadcastState(RULES).immutableEntries()) seen.put(one.getKey(), "" + one.getValue());
            seen.forEach((key, rule) -> System.out.println("OBS S\tbc.rules\t" + key + "\t" + rule));
        }

        @Override public void processBroadcastElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (number < 3) context.getBroadcastState(RULES).put("k" + number, RULE.of(number));
        }
    }

    public static class Slow implements MapFunction<Long, Long> {
        @Override public Long map(Long number) throws Exception {
            Thread.sleep(20);
            return number;
        }
    }

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(2);
        DataStream<Long> numbers = environment.fromSequence(0, 1_000_000).uid("numbers").map(new Slow()).uid("slow");
        DataStream<Long> rules = environment.fromSequence(FIRST, 1_000_000).uid("rules").map(new Slow()).uid("slow rules");
        numbers.connect(rules.broadcast(RULES)).process(new Kept()).uid("bc").print().uid("out");
        if (args.length == 0) {
            environment.execute("rules");
            return;
        }
        JobClient client = environment.executeAsync("rules");
        Thread.sleep(4000);
        client.triggerSavepoint(args[0], SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        Runtime.getRuntime().halt(0);
    }
}
