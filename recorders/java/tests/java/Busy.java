import java.util.HashMap;
import java.util.Map;

/** Allocates until it is killed: maps, texts and arrays, in two threads. */
public final class Busy {
    static volatile Object escape;

    static void work(int seed) {
        for (long round = seed; ; round++) {
            Map<String, byte[]> map = new HashMap<>();
            for (int i = 0; i < 50; i++) {
                map.put("key" + (round + i), new byte[(int) ((round * 31 + i) % 300)]);
            }
            escape = map;
        }
    }

    public static void main(String[] args) {
        new Thread(() -> work(1), "busy").start();
        System.out.println("ready");
        work(0);
    }
}
