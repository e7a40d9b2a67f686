package tunnel;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> BLOCKED = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) BLOCKED.add(Sample.text(40));
        for (int i = 0; i < 7000; i++) new ConnectionStats("10.0." + i % 200 + "." + i % 99, new byte[1200]).register(i);
        HeapDump.write();
    }
}
