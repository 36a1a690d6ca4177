package cases;

/** A field has another name. */
public class PojoFieldRenamed {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class P { public long n; public String user; public long last; }
}
