package cases;

import org.apache.flink.api.common.typeinfo.Types;

public class KeyCaptured {
  public static void main(String[] args) throws Exception {
    long by = args.length + 3;
    Jobs.key(n -> n % by, Types.LONG);
  }
}
