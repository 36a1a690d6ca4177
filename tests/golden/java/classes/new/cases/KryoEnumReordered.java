package cases;

public class KryoEnumReordered {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public enum Color { GREEN, RED { int n() { return 1; } }; int n() { return 0; } }
  public static class P { public Color color; public P(long n) {} }
}
