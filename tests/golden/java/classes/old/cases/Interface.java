package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Interface implements MapFunction<Long, Long> {
  interface Rule { long of(long v); default long twice(long v) { return of(of(v)); } }
  static class Plus implements Rule {
    public long of(long v) { return v + 1; }
  }
  public Long map(Long value) { Rule rule = new Plus(); return rule.twice(value); }
}
