package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

public class KeyEquals {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(), TypeInformation.of(K.class)); }
  public static class K {
    public long a, b;
    @Override public boolean equals(Object o) { return o instanceof K && ((K) o).a == a && ((K) o).b == b; }
    @Override public int hashCode() { return Long.hashCode(a); }
  }
}
