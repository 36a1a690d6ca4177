package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Unrelated implements MapFunction<Long, Long> {
  static class Other { long a; }
  public Long map(Long value) { return value; }
}
