package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class RenamedHelper implements MapFunction<Long, Long> {
  public Long map(Long value) { return plus(value); }
  static long plus(long v) { return v + 3; }
}
