package cases;

import org.apache.flink.api.common.typeinfo.Types;

public class KeyReference {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> n.intValue(), Types.INT);
  }
}
