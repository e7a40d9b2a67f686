package uploads;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import ops.*;
public class Main {
    static final Map<Integer, String> ACCOUNTS = new HashMap<>();
    static final List<long[]> DAILY = new ArrayList<>();
    static final BufferPool POOL = new BufferPool(48, 512 * 1024);
    static final Map<String, Upload> RUNNING = new ConcurrentHashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 15000; i++) ACCOUNTS.put(i, Sample.text(90));
        for (int i = 0; i < 365; i++) DAILY.add(new long[480]);
        for (int i = 0; i < 900; i++) {
            Upload u = new Upload("file-" + i, POOL.take());
            RUNNING.put(u.name, u);
            u.chunk(Sample.text(200).getBytes());
            if (i < 880) { RUNNING.remove(u.name); POOL.give(u.buffer); }
        }
        System.out.println(RUNNING.size());
        HeapDump.write();
    }
}
