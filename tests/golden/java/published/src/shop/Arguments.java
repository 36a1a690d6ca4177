package shop;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.ParameterTool;

/** A program that needs arguments. */
public class Arguments {
    public static void main(String[] arguments) throws Exception {
        ParameterTool given = ParameterTool.fromArgs(arguments);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSequence(1, 3).name(given.getRequired("input")).sinkTo(new DiscardingSink<>());
        environment.execute(given.getRequired("name"));
    }
}
