package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Unrelated implements MapFunction<Long, Long> {
  static class Other { long a; long b; long sum() { return a + b; } }
  public Long map(Long value) { return value; }
}
