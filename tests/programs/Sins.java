import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the rules for Java heaps look for, all in one program: {@code java Sins.java OUT.hprof}. */
public class Sins {
    static final Map<Integer, Long> BOXES = new HashMap<>();
    static final List<Map<String, String>> SPARSE = new ArrayList<>();
    static final List<Object> PLUGINS = new ArrayList<>();
    static final ThreadLocal<byte[]> BUFFER = ThreadLocal.withInitial(() -> new byte[3 << 20]);
    static final List<Order> ORDERS = new ArrayList<>();
    static final Object[] BOARD = new Object[1 << 20];
    static final List<Handle> HANDLES = new ArrayList<>();
    static byte[] huge = new byte[16 << 20];

    /** Four collections each, of which one has something in it. */
    static class Order {
        final Map<String, String> labels = new HashMap<>();
        final Set<String> tags = new HashSet<>();
        final List<String> notes = new ArrayList<>(10);
        final Deque<String> steps = new ArrayDeque<>();

        Order(int id) {
            labels.put("id", "order");
        }
    }

    /** Has to be finalized. */
    static class Handle {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            huge = null;
        }
    }

    /** Loaded again and again, each time by a loader of its own. */
    public static class Plugin {
        static final byte[] CACHE = new byte[1 << 20];
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] code) {
            return defineClass("Sins$Plugin", code, 0, code.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 150_000; i++) BOXES.put(100_000 + i, 1_000_000L + i);
        for (int i = 0; i < 2_000; i++) {
            Map<String, String> map = new HashMap<>(1000);
            map.put("key", "value");
            SPARSE.add(map);
        }
        for (int i = 0; i < 20_000; i++) ORDERS.add(new Order(i));
        for (int i = 0; i < BOARD.length; i += 1 << 14) BOARD[i] = "piece";
        for (int i = 0; i < 12_000; i++) HANDLES.add(new Handle());
        byte[] code;
        try (InputStream in = Sins.class.getClassLoader().getResourceAsStream("Sins$Plugin.class")) {
            code = in.readAllBytes();
        }
        for (int i = 0; i < 6; i++) {
            PLUGINS.add(new Loader().define(code).getDeclaredConstructor().newInstance());
        }
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                BUFFER.get()[0] = 1;
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException ignored) {
                    // The program is over.
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(300);
        ManagementFactory.newPlatformMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
            "com.sun.management:type=HotSpotDiagnostic", com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(arguments[0], true);
        System.exit(0);
    }
}
