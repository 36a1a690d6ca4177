package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class ChangedSwitch implements MapFunction<Integer, Long> {
  public Long map(Integer value) { switch (value) { case 1: return 1L; case 3: return 2L; default: return 0L; } }
}
