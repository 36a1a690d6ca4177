package cases;

import org.apache.flink.api.common.typeinfo.Types;

/** The same key in other words. */
public class KeyRefactored {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> n % 3 + 1, Types.LONG);
  }
}
