package cases;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;

public class KeyLambdaToClass {
  public static void main(String[] args) throws Exception { Jobs.key(n -> n % 3, Types.LONG); }
}
