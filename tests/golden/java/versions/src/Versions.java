import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** A job of calls that every version of Flink from 1.17 on has: "same", or "retyped" with another state; a folder for a savepoint. */
public class Versions {
    public static class Account {
        public String name = "";
        public long visits;
    }

    public static class Visits extends RichFlatMapFunction<Long, Long> implements CheckpointedFunction {
        private final boolean retyped;
        private transient ValueState<Account> account;
        private transient ValueState<String> text;

        public Visits(boolean retyped) {
            this.retyped = retyped;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            if (retyped) {
                text = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("account", Types.STRING));
            } else {
                TypeInformation<Account> type = Types.POJO(Account.class);
                account = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("account", type));
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {}

        @Override
        public void flatMap(Long value, Collector<Long> out) throws Exception {
            Account found = account.value();
            found = found == null ? new Account() : found;
            found.visits++;
            account.update(found);
            out.collect(found.visits);
        }
    }

    /** The key of a record. What waits here waits before the exchange, too: no barrier stands behind a queue of records. */
    static long slowly(long value) throws InterruptedException {
        Thread.sleep(1);
        return value % 100;
    }

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        environment.enableCheckpointing(100);
        NumberSequenceSource numbers = new NumberSequenceSource(0, Long.MAX_VALUE);
        KeyedStream<Long, Long> keyed = environment
                .fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
                .keyBy(value -> slowly(value));
        keyed.flatMap(new Visits(arguments[0].equals("retyped")))
                .uid("visits").keyBy(value -> value % 10)
                .reduce((one, other) -> Math.max(one, other)).uid("most").print().uid("print");
        if (arguments.length == 1) {
            environment.execute("versions");
            return;
        }
        JobClient client = environment.executeAsync("versions");
        for (int tries = 0; tries < 60; tries++) {
            Thread.sleep(1000);
            try {
                client.triggerSavepoint(arguments[1] + "/early", SavepointFormatType.CANONICAL).get();
                Thread.sleep(1000);
                client.stopWithSavepoint(false, arguments[1] + "/late", SavepointFormatType.CANONICAL).get();
                System.exit(0);
            } catch (ExecutionException error) {
                System.err.println(error); // it is still on its way to its start
            }
        }
        System.exit(1);
    }
}
