package cases;

import org.apache.flink.api.common.typeinfo.Types;

public class KeyExpression {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> n % 3, Types.LONG);
  }
}
