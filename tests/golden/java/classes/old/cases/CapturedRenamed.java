package cases;

import org.apache.flink.api.common.functions.MapFunction;
import java.util.function.LongUnaryOperator;

public class CapturedRenamed implements MapFunction<Long, Long> {
  public Long map(Long value) {
    long limit = value + 1;
    return new LongUnaryOperator() { public long applyAsLong(long v) { return Math.min(v, limit); } }.applyAsLong(value);
  }
}
