package lobby;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> ROOMS = new ArrayList<>();
    static volatile Object sink;
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 12000; i++) ROOMS.add(Sample.text(60));
        IdleWatch watch = new IdleWatch();
        for (int i = 0; i < 9000; i++) {
            TimerTask t = watch.login(new Visit("guest-" + i, Sample.text(350)));
            t.cancel();   // logged out
        }
        System.gc();
        for (int i = 0; i < 20000; i++) {   // ordinary short-lived work since the last collection
            HashMap<String, Object> m = new HashMap<>();
            m.put("line", new byte[400 + i % 300]); m.put("seq", i * 1000L);
            sink = m;
        }
        sink = null;
        HeapDump.write(false);
    }
}
