package cases;

/** The fields stand in another order, one is transient, a method is new. */
public class KryoSame {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    private long aa; String name;
    public P(long n) {}
  }
}
