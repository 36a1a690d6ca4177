package cases;

/** Fields are written in the order of their names: each value moves. */
public class KryoMoved {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    public long aa, last;
    public P(long n) {}
  }
}
