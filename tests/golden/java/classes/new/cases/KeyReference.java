package cases;

import org.apache.flink.api.common.typeinfo.Types;

public class KeyReference {
  public static void main(String[] args) throws Exception {
    Runnable unrelated = () -> System.gc();
    Jobs.key(Long::intValue, Types.INT);
  }
}
