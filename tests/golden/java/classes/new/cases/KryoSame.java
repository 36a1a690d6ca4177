package cases;

/** The fields stand in another order, one is transient, a method is new. */
public class KryoSame {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    String name; private long aa; transient int cache; static int made;
    public long twice() { return aa * 2; }
    public P(long n) {}
  }
}
