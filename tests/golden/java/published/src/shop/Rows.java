package shop;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.types.Row;

/** A sum over a field of what has the type of a case class: Flink asks a Scala API for it. */
public class Rows {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        RowTypeInfo type = new RowTypeInfo(Types.LONG) {
            @Override
            public boolean isCaseClass() {
                return true;
            }
        };
        environment.fromSequence(1, 3).map(number -> Row.of(number)).returns(type)
                .keyBy(row -> 1).sum(0).uid("sums").sinkTo(new DiscardingSink<>());
        environment.execute("rows");
    }
}
