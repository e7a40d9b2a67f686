package archive;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import ops.*;
public class Main {
    static final List<String> CUSTOMERS = new ArrayList<>();
    static final AtomicInteger N = new AtomicInteger();
    static final ExecutorService WRITERS = Executors.newFixedThreadPool(90, r -> { Thread t = new Thread(r, "archive-writer-" + N.incrementAndGet()); t.setDaemon(true); return t; });
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 36000; i++) CUSTOMERS.add(Sample.text(80));
        Path tmp = Files.createTempFile("archive", ".bin");
        ArchiveWriter w = new ArchiveWriter(tmp);
        CountDownLatch all = new CountDownLatch(90);
        Semaphore few = new Semaphore(2);
        for (int i = 0; i < 90; i++) {
            int n = i;
            WRITERS.submit(() -> { few.acquireUninterruptibly(); try { w.store(n, 900_000 + n * 1000); } catch (Exception e) { e.printStackTrace(); } finally { few.release(); all.countDown(); } });
        }
        all.await();
        Files.delete(tmp);
        HeapDump.write();
    }
}
