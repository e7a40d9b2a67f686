package shop;
import com.google.common.cache.*;
import com.google.common.collect.*;
import java.util.*;
import java.util.concurrent.*;
import ops.*;
/** A bounded cache at its limit, a table of post codes, and a pool of idle threads. */
public class Main {
    static final Cache<String, String> THUMBNAILS = CacheBuilder.newBuilder().maximumSize(2000).expireAfterAccess(10, TimeUnit.MINUTES).build();
    static ImmutableSortedMap<Integer, String> postCodes;
    static final ExecutorService WORKERS = Executors.newFixedThreadPool(6);
    public static void main(String[] a) throws Exception {
        ImmutableSortedMap.Builder<Integer, String> b = ImmutableSortedMap.naturalOrder();
        for (int i = 0; i < 40000; i++) b.put(10000 + i, Sample.text(22));
        postCodes = b.build();
        for (int i = 0; i < 9000; i++) { String k = "img" + i; THUMBNAILS.get(k, () -> Sample.text(700)); }
        for (int i = 0; i < 20; i++) WORKERS.submit(() -> postCodes.size()).get();
        HeapDump.write();
    }
}
