package cases;

/** The renamed field stays between the other two. */
public class KryoRenamed {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    public long aa, latest, zz;
    public P(long n) {}
  }
}
