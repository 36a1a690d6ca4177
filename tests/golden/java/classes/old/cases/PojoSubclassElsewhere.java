package cases;

public class PojoSubclassElsewhere {
  public static void main(String[] args) throws Exception { Jobs.value(Base.class, n -> new Base()); }
  public static class Base { public long n; }
  public static class Below extends Base {
    public long a;
  }
}
