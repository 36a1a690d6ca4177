package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ReorderedMethods implements MapFunction<Long, Long> {
  public Long map(Long value) { return a(value) + b(value); }
  private long a(long v) { return v + 17; }
  private long b(long v) { return v * 40000; }
}
