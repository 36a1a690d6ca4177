package cases;

/** The elements of an array. */
public class KryoInArray {
  public static void main(String[] args) throws Exception { Jobs.value(P[].class, n -> new P[0]); }
  public static class P {
    public long aa, last;
    public P(long n) {}
  }
}
