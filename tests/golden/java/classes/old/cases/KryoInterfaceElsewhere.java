package cases;

/** The function makes circles, and the square is another one. */
public class KryoInterfaceElsewhere {
  public static void main(String[] args) throws Exception { Jobs.value(Shape.class, n -> new Circle()); }
  public interface Shape {}
  public static class Circle implements Shape { public long radius; }
  public static class Square implements Shape {
    public long side;
  }
}
