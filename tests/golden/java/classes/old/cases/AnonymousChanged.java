package cases;

import org.apache.flink.api.common.functions.MapFunction;
import java.util.function.LongUnaryOperator;

public class AnonymousChanged implements MapFunction<Long, Long> {
  public Long map(Long value) {
    return new LongUnaryOperator() {
      public long applyAsLong(long v) { return v + 1; }
    }.applyAsLong(value);
  }
}
