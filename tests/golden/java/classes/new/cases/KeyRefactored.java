package cases;

import org.apache.flink.api.common.typeinfo.Types;

/** The same key in other words. */
public class KeyRefactored {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> 1 + n % 3, Types.LONG);
  }
}
