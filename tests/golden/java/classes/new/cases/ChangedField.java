package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedField implements MapFunction<ChangedField.Two, Long> {
  public static class Two { public long a; public long b; }
  public Long map(Two value) { return value.b; }
}
