package maps;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> PLACES = new HashMap<>();
    static final LinkedHashMap<Integer, TilePage> VISIBLE = new LinkedHashMap<>(64, 0.75f, true) {
        @Override protected boolean removeEldestEntry(Map.Entry<Integer, TilePage> e) { return size() > 200; }
    };
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 30000; i++) PLACES.put("place " + i, Sample.text(170));
        long drawn = 0;
        for (int i = 0; i < 3200; i++) { int k = i; drawn += VISIBLE.computeIfAbsent(Sample.rnd(4000), x -> new TilePage(Sample.text(24), 3000 + k % 5 * 600)).draw(i % 12); }
        System.out.println(drawn + " " + TilePage.bytesInUse);
        HeapDump.write();
    }
}
