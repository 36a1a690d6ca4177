package cases;

/** A field is gone, and the new one has another type. */
public class PojoFieldGone {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class P { public long n; public String user; public int other; }
}
