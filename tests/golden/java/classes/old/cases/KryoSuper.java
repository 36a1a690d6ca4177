package cases;

/** A field of the class above. */
public class KryoSuper {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class Base {
    public long aa;
  }
  public static class P extends Base { public long mm; public P(long n) {} }
}
