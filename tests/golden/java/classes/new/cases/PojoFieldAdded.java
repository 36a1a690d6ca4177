package cases;

/** A field is new. */
public class PojoFieldAdded {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class P { public long n; public String user; public long last; }
}
