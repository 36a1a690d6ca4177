package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedConstant implements MapFunction<Long, Long> {
  public Long map(Long value) { return value + 101; }
}
