package cases;

import org.apache.flink.api.common.functions.MapFunction;
import java.util.function.LongUnaryOperator;

public class LambdaMoved implements MapFunction<Long, Long> {
  public Long map(Long value) { LongUnaryOperator f = v -> v + 5; return f.applyAsLong(value); }
}
