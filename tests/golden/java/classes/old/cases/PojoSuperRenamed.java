package cases;

/** The class above has another name. */
public class PojoSuperRenamed {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class Base { public long n; }
  public static class P extends Base { public long m; }
}
