package cases;

import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

public class FoldReducing {
  public static void main(String[] args) throws Exception {
    var env = Jobs.env();
    Jobs.keyed(env).process(new Fn()).uid("keep").print().uid("out");
    env.execute();
  }
  static class Fn extends KeyedProcessFunction<Long, Long, Long> {
    @Override public void open(OpenContext context) {
      getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("st", (a, b) -> a + b, Long.class));
    }
    @Override public void processElement(Long n, Context context, Collector<Long> out) {}
  }
}
