package cases;

/** Nobody knows what is in it. */
public class KryoUnknown {
  public static void main(String[] args) throws Exception { Jobs.value(Shape.class, n -> null); }
  public interface Shape {}
}
