package shop;

/** An exercise whose solution nobody has written yet. */
public class Unwritten {
    public static void main(String[] arguments) {
        throw new UnsupportedOperationException("Write me");
    }
}
