package cases;

import org.apache.flink.api.common.typeinfo.Types;

/** Another key for one number only, which nobody would try. */
public class KeyBranches {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> n == 27182818284L ? 1L : 0L, Types.LONG);
  }
}
