package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class EnumBodyChanged implements MapFunction<Long, Long> {
  enum Op {
    UP { long of(long v) { return v + 1; } };
    abstract long of(long v);
  }
  public Long map(Long value) { return Op.UP.of(value); }
}
