package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedBranch implements MapFunction<Long, Long> {
  public Long map(Long value) { return value >= 10 ? 1L : 0L; }
}
