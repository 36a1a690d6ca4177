package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class RenamedLocal implements MapFunction<Long, Long> {
  public Long map(Long value) { long twice = value * 2; return twice + 1; }
}
