package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedType implements MapFunction<Object, Long> {
  public Long map(Object value) { return value instanceof String ? 1L : 0L; }
}
