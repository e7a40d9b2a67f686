package gateway;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> BACKENDS = new LinkedHashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 16000; i++) BACKENDS.put("b" + i, Sample.text(60));
        for (int i = 0; i < 20000; i++) StartupGate.whenWarm(new Request(i, Sample.text(500)));
        Thread.sleep(1500);
        HeapDump.write();
    }
}
