package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Hook extends HookBase {
  long hook(long v) { return v; }
}

abstract class HookBase implements MapFunction<Long, Long> {
  public Long map(Long value) { return hook(value) + 1; }
  abstract long hook(long v);
}
