package cases;

/** A field of a POJO that is no POJO itself. */
public class KryoInPojo {
  public static void main(String[] args) throws Exception { Jobs.value(Outer.class, n -> new Outer()); }
  public static class Outer { public long n; public P inner; }
  public static class P {
    public long last, zz;
    public P(long n) {}
  }
}
