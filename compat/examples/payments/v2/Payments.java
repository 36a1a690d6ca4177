import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Payments of accounts: how many, and how much. */
public class Payments {

    /** What is known of an account. */
    public static class Account {
        public long payments;
        public double cents;
    }

    public static class Total extends KeyedProcessFunction<Long, Long, String> {
        private transient ValueState<Account> account;

        @Override
        public void open(OpenContext context) {
            account = getRuntimeContext().getState(new ValueStateDescriptor<>("account", Account.class));
        }

        @Override
        public void processElement(Long payment, Context context, Collector<String> out) throws Exception {
            Account known = account.value() == null ? new Account() : account.value();
            known.payments += 1;
            known.cents += payment;
            account.update(known);
            out.collect(context.getCurrentKey() + ": " + known.payments + ", " + known.cents);
        }
    }

    public static class LastPayment extends KeyedProcessFunction<Long, Long, String> {
        private transient ValueState<Long> last;

        @Override
        public void open(OpenContext context) {
            last = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Types.LONG));
        }

        @Override
        public void processElement(Long payment, Context context, Collector<String> out) throws Exception {
            out.collect(context.getCurrentKey() + ": " + last.value() + " then " + payment);
            last.update(payment);
        }
    }

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        var payments = env.fromSource(
                new DataGeneratorSource<>(number -> number, Long.MAX_VALUE, Types.LONG),
                WatermarkStrategy.noWatermarks(), "payments");
        payments.keyBy(payment -> payment % 100)
                .process(new Total())
                .uid("total")
                .name("total of an account")
                .sinkTo(new DiscardingSink<>());
        payments.filter(payment -> payment > 0)
                .keyBy(payment -> payment % 100)
                .process(new LastPayment())
                .name("last payment")
                .sinkTo(new DiscardingSink<>());
        env.execute("payments");
    }
}
