package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

public class KeyRecordSame {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(n, "a"), TypeInformation.of(K.class)); }
  public record K(long a, String b) { public String shown() { return a + b; } }
}
