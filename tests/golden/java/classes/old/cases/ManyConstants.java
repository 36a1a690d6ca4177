package cases;

import org.apache.flink.api.common.functions.MapFunction;

/** So many constants that some are beyond the reach of the short form of an instruction. */
public class ManyConstants implements MapFunction<Long, String> {

  public String map(Long value) { return value > 70000 ? "the last one" : "first"; }
}
