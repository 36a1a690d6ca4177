package cases;

public class KryoEnumNamed {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public enum Color { GREEN, RED; public final String name = "color"; public final int ordinal = 7; }
  public static class P { public Color color; public P(long n) {} }
}
