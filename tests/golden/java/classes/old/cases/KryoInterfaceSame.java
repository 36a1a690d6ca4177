package cases;

public class KryoInterfaceSame {
  public static void main(String[] args) throws Exception { Jobs.value(Shape.class, n -> new Circle()); }
  public interface Shape {}
  public static class Circle implements Shape { public long radius; }
  public static class Unrelated {
    public long side;
  }
}
