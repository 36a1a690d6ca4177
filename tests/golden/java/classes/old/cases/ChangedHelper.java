package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedHelper implements MapFunction<Long, Long> {
  public Long map(Long value) { return Inner.plus(value); }
  static class Inner {
    static long plus(long v) { return v + 3; }
  }
}
