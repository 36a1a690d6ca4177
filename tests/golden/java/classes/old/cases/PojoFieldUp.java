package cases;

/** A field is declared by a class above. */
public class PojoFieldUp {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class Base { public long n; }
  public static class P extends Base { public long m; public String user; }
}
