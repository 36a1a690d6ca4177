import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A program of calls that Flink 1.17 and all later versions have. */
public class AnyVersion {
  public static void main(String[] args) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.fromSequence(1, 10).uid("numbers").keyBy(new Third()).reduce(new Sum()).uid("sums").name("sums").print().uid("out");
    env.execute("any version");
  }

  static class Third implements KeySelector<Long, Long> {
    @Override public Long getKey(Long value) { return value % 3; }
  }

  static class Sum implements ReduceFunction<Long> {
    @Override public Long reduce(Long left, Long right) { return left + right; }
  }
}
