package cases;

public class KryoAdded {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P {
    public long aa;
    public P(long n) {}
  }
}
