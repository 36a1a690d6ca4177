import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** What the old version keeps. */
public class Basket {
    enum Colour { RED, GREEN }

    static class Item {
        String name;
        int pieces;
        Colour colour;

        Item(String name, int pieces, Colour colour) {
            this.name = name;
            this.pieces = pieces;
            this.colour = colour;
        }
    }

    record Size(int width, String unit) {}

    String owner = "ann";
    Size size = new Size(4, "cm");
    List<Item> items = new ArrayList<>();
    Map<String, Item> byName = new TreeMap<>();
    Item[] last = new Item[2];
    long[] prices = {3, 5};
    int visits = 7;
    transient int forgotten = 1;
    static int shared = 2;
    boolean gone = true;
    Optional<Object> note = Optional.of("ripe");

    static Basket sample(boolean within) {
        Basket made = new Basket();
        if (within) {
            made.note = Optional.of(new Item("fig", 1, null));
        }
        made.items.add(new Item("pear", 2, Colour.GREEN));
        made.byName.put("plum", new Item("plum", 3, Colour.RED));
        made.last[0] = new Item("fig", 1, null);
        return made;
    }
}
