package ops;
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
public final class HeapDump {
    private HeapDump() {}
    public static void write() throws Exception {
        System.gc();
        Thread.sleep(300);
        write(true);
    }

    /** The same with or without objects that nothing reaches any more. */
    public static void write(boolean live) throws Exception {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(System.getenv("SNAP"), live);
        Runtime.getRuntime().halt(0);
    }
}
