package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class RecordUsed implements MapFunction<Long, Integer> {
  record Pair(long a, long b) {}
  public Integer map(Long value) { return new Pair(value, -value).hashCode(); }
}
