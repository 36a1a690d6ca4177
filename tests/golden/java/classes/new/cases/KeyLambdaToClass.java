package cases;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;

public class KeyLambdaToClass {
  public static void main(String[] args) throws Exception { Jobs.key(new ByThree(), Types.LONG); }
  static class ByThree implements KeySelector<Long, Long> {
    @Override public Long getKey(Long value) { return value % 3; }
  }
}
