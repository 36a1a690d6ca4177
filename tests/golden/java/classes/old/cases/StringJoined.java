package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class StringJoined implements MapFunction<Long, String> {
  public String map(Long value) { return "id-" + value; }
}
