package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedCatch implements MapFunction<String, Long> {
  public Long map(String value) { try { return Long.parseLong(value); } catch (IllegalStateException e) { return 0L; } }
}
