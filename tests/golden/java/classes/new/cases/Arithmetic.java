package cases;

import org.apache.flink.api.common.functions.ReduceFunction;

public class Arithmetic implements ReduceFunction<Double> {
  public Double reduce(Double a, Double b) { return b + a; }
}
