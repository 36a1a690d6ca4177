package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class RenamedLocal implements MapFunction<Long, Long> {
  public Long map(Long given) {
    long doubled = given * 2;

    return doubled + 1;
  }
}
