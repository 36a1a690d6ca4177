package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

/** Other code for the same hash. */
public class KeyHashRewritten {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(), TypeInformation.of(K.class)); }
  public static class K {
    public long a; public String b;
    @Override public boolean equals(Object o) { return o instanceof K && ((K) o).a == a && java.util.Objects.equals(((K) o).b, b); }
    @Override public int hashCode() { return java.util.Objects.hash(a, b); }
  }
}
