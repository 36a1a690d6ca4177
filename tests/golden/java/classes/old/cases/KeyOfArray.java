package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

/** An array hashes by identity. */
public class KeyOfArray {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(), TypeInformation.of(K.class)); }
  public static class K {
    public long a; public byte[] b;
    @Override public boolean equals(Object o) { return o instanceof K && ((K) o).a == a && java.util.Arrays.equals(((K) o).b, b); }
    @Override public int hashCode() { return java.util.Objects.hash(a, b); }
  }
}
