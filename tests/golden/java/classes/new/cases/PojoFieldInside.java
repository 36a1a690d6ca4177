package cases;

/** A field of a POJO in an array in a POJO has another name. */
public class PojoFieldInside {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class P { public long n; public Inner[] inner; }
  public static class Inner { public String b; }
}
