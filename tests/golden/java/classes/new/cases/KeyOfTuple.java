package cases;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;

public class KeyOfTuple {
  public static void main(String[] args) throws Exception {
    Jobs.key(n -> Tuple2.of(n, "a"), Types.TUPLE(Types.LONG, Types.STRING));
  }
}
