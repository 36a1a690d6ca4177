package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class Superclass extends SuperclassBase {
  long hook(long v) { return v; }
}

abstract class SuperclassBase implements MapFunction<Long, Long> {
    public Long map(Long value) { return hook(value) + 2; }
  abstract long hook(long v);
}
