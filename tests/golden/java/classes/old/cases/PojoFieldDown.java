package cases;

/** A field is declared by a class below. */
public class PojoFieldDown {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class Base { public long n; public String user; }
  public static class P extends Base { public long m; }
}
