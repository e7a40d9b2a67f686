import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A small service that leaks in three ways at once, or not at all: {@code java Service.java leaking|healthy OUT.hprof}. */
public class Service {
    /** What is kept of a visitor. */
    static class Session {
        final long id;
        final String user;
        final long[] visits = new long[40];

        Session(long id) {
            this.id = id;
            this.user = "user " + id;
            visits[0] = id;
        }
    }

    /** A cache that only grows, if nobody forgets. */
    static class SessionCache {
        static final Map<Long, Session> SESSIONS = new HashMap<>();

        static Session get(long id) {
            return SESSIONS.computeIfAbsent(id, Session::new);
        }
    }

    interface Listener {
        int tick();
    }

    /** Listeners that are never removed, each with what it was made for. */
    static class Ticker {
        final List<Listener> listeners = new ArrayList<>();
    }

    static class Subscription implements Listener {
        final int[] rows = new int[500];

        Subscription(int id) {
            rows[0] = id;
        }

        @Override
        public int tick() {
            return rows.length;
        }
    }

    static final Ticker TICKER = new Ticker();
    static final ThreadLocal<byte[]> BUFFER = new ThreadLocal<>();

    public static void main(String[] arguments) throws Exception {
        boolean leaking = arguments[0].equals("leaking");
        for (long request = 0; request < 40_000; request++) {
            SessionCache.get(request);
            if (!leaking) SessionCache.SESSIONS.remove(request);
            if (request % 8 == 0) {
                Listener listener = new Subscription((int) request);
                TICKER.listeners.add(listener);
                if (!leaking) TICKER.listeners.remove(listener);
            }
        }
        List<Thread> pool = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                byte[] buffer = new byte[3 << 20];
                buffer[0] = (byte) Thread.currentThread().getId();
                BUFFER.set(buffer);
                buffer = null;
                if (!leaking) BUFFER.remove();
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException ignored) {
                    // The program is over.
                }
            }, "worker-" + i);
            thread.setDaemon(true);
            thread.start();
            pool.add(thread);
        }
        for (Thread thread : pool) {
            while (thread.getState() != Thread.State.TIMED_WAITING) Thread.sleep(10);
        }
        ManagementFactory.newPlatformMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
            "com.sun.management:type=HotSpotDiagnostic", com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(arguments[1], true);
        System.exit(0);
    }
}
