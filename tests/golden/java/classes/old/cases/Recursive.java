package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Recursive implements MapFunction<Long, Long> {
  public Long map(Long value) { return even(value) ? 1L : 0L; }
  boolean even(long v) { return v == 0 || odd(v - 1); }
  boolean odd(long v) { return v != 0 && even(v - 1); }
}
