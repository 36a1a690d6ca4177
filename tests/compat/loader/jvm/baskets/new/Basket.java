import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the new version keeps: fields in another order, of other types, with other names, one more and one less. */
public class Basket {
    enum Colour { GREEN, BLUE, RED }

    static class Item {
        Colour colour;
        long pieces;
        String name;

        @Override
        public String toString() {
            return name + "*" + pieces + ":" + colour;
        }
    }

    record Size(String unit, long width) {}

    int shop;
    Size size;
    String customer;
    Item[] last;
    long visits;
    long[] prices;
    Map<String, Item> byName;
    List<Item> items;
    Optional<Object> note;

    static Basket sample(boolean within) {
        return new Basket();
    }

    @Override
    public String toString() {
        return customer + " " + shop + " " + visits + " " + items + byName + Arrays.toString(last) + Arrays.toString(prices) + size.width + size.unit + note.get();
    }
}
