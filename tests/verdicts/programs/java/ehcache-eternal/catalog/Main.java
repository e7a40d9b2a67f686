package catalog;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> ITEMS = new HashMap<>();
    static PriceCache cache;
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 25000; i++) ITEMS.put("i" + i, Sample.text(40));
        cache = new PriceCache();
        for (int i = 0; i < 22000; i++) cache.price("basket-" + i + "-" + Sample.rnd(1000));
        HeapDump.write();
    }
}
