package cases;

import org.apache.flink.api.common.functions.MapFunction;

public class EnumSwitchChanged implements MapFunction<EnumSwitchChanged.Color, Long> {
  enum Color { RED, GREEN, BLUE }
  public Long map(Color value) { switch (value) { case RED: return 1L; case GREEN: return 2L; default: return 0L; } }
}
