package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class AddedMethod implements MapFunction<Long, Long> {
  public Long map(Long value) { return value + 1; }
  /** Nothing that the function needs. */
  public static String described() { return "adds " + 1; }
}
