package cases;

public class KryoEnumRemoved {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public enum Color { RED }
  public static class P { public Color color; public P(long n) {} }
}
