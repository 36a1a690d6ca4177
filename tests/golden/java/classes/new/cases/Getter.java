package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Getter implements MapFunction<Getter.One, Long> {
  public static class One { public long n; public long getN() { return n; } }
  public Long map(One value) { return value.getN(); }
}
