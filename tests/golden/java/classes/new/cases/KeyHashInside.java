package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

/** The hash of a class within the key. */
public class KeyHashInside {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(), TypeInformation.of(K.class)); }
  public static class K {
    public long a; public Part b;
    @Override public boolean equals(Object o) { return o instanceof K && ((K) o).a == a; }
    @Override public int hashCode() { return java.util.Objects.hash(a, b); }
  }
  public static class Part {
    public long c;
    @Override public boolean equals(Object o) { return o instanceof Part && ((Part) o).c == c; }
    @Override public int hashCode() { return (int) c * 7; }
  }
}
