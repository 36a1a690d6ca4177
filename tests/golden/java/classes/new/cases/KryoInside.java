package cases;

import java.util.*;

/** A class in a list in a class. */
public class KryoInside {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    public Map<String, List<Inner>> inner = new HashMap<>();
    public P(long n) {}
  }
  public static class Inner {
    public long aa; public String name;
    public Inner(long n) {}
  }
}
