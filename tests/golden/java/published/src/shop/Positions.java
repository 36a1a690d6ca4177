package shop;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;

/** A source of the program's own that wants to find its position where it is restored, or that can never be. */
public class Positions {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.addSource(new Source(arguments.length > 0)).uid("numbers").sinkTo(new DiscardingSink<>());
        environment.execute("positions");
    }

    static class Source implements SourceFunction<Long>, CheckpointedFunction {
        private final boolean never;
        private transient ListState<Long> positions;
        private long position;

        Source(boolean never) {
            this.never = never;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            positions = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("positions", Long.class));
            if (context.isRestored()) {
                if (never || !positions.get().iterator().hasNext()) {
                    throw new IllegalStateException("There is no position to go on from");
                }
                position = positions.get().iterator().next();
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            positions.update(java.util.List.of(position));
        }

        @Override
        public void run(SourceContext<Long> context) {
            context.collect(position++);
        }

        @Override
        public void cancel() {}
    }
}
