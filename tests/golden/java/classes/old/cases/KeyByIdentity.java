package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

/** An enum hashes by identity: no key is found again in another process, nothing changed or not. */
public class KeyByIdentity {
  enum Color { RED, GREEN }
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(), TypeInformation.of(K.class)); }
  public static class K {
    public long a; public Color color;
    @Override public boolean equals(Object o) { return o instanceof K && ((K) o).a == a && ((K) o).color == color; }
    @Override public int hashCode() { return java.util.Objects.hash(a, color); }
  }
}
