import java.lang.management.ManagementFactory;

/** Makes garbage, and dumps the heap with it: {@code java -XX:+UseSerialGC Garbage.java OUT.hprof}. */
public class Garbage {
    static class Holder {
        final long[] numbers = new long[8];
    }

    static Holder last;

    public static void main(String[] arguments) throws Exception {
        var heap = ManagementFactory.newPlatformMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
            "com.sun.management:type=HotSpotDiagnostic", com.sun.management.HotSpotDiagnosticMXBean.class);
        System.gc();
        for (int i = 0; i < 200_000; i++) last = new Holder();
        heap.dumpHeap(arguments[0], false);
        System.exit(0);
    }
}
