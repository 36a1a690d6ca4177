package cases;

/** The function makes circles. */
public class KryoInterface {
  public static void main(String[] args) throws Exception { Jobs.value(Shape.class, n -> new Circle()); }
  public interface Shape {}
  public static class Circle implements Shape {
    public long radius;
  }
}
