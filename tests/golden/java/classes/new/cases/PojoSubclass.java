package cases;

/** The function makes values of the class below. */
public class PojoSubclass {
  public static void main(String[] args) throws Exception { Jobs.value(Base.class, n -> new Below()); }
  public static class Base { public long n; }
  public static class Below extends Base {
    public long a, b;
  }
}
