package cases;

/** The class above has another name. */
public class PojoSuperRenamed {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class Other { public long n; }
  public static class P extends Other { public long m; }
}
