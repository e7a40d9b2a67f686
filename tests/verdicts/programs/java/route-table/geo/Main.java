package geo;
import java.util.*;
import java.util.concurrent.*;
import ops.*;
public class Main {
    static final AirportDistances DISTANCES = new AirportDistances(1100);
    static final Map<String, String> AIRPORTS = new TreeMap<>();
    static final Map<Long, Booking> BOOKINGS = new LinkedHashMap<>() { protected boolean removeEldestEntry(Map.Entry<Long, Booking> e) { return size() > 9000; } };
    static final List<String> TEXTS = new ArrayList<>();
    static final byte[][] TILES = new byte[64][];
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 9000; i++) AIRPORTS.put("AP" + i, Sample.text(80));
        for (long i = 0; i < 60000; i++) BOOKINGS.put(i, new Booking(i, "traveller-" + i, Sample.text(50)));
        for (int i = 0; i < 14000; i++) TEXTS.add(Sample.text(100));
        for (int i = 0; i < TILES.length; i++) TILES[i] = new byte[32 * 1024];
        System.out.println(DISTANCES.km(4, 900));
        HeapDump.write();
    }
    record Booking(long id, String who, String seat) {}
}
