package cases;

import org.apache.flink.api.common.functions.MapFunction;
import java.util.Set;

public class OtherStatic implements MapFunction<Long, Long> {

  static final Set<String> NAMES = Set.of("a", "b");
  public Long map(Long value) { return NAMES.contains("a") ? value : 0; }
}
