package clicks;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> PAGES = new TreeMap<>();
    static final FunnelStats STATS = new FunnelStats();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 16000; i++) PAGES.put("/p/" + i, Sample.text(240));
        for (int i = 0; i < 15000; i++) STATS.clicked(new Click("v" + Sample.rnd(3000) + "-" + i / 8000, "/p/" + Sample.rnd(16000), "https://search.test/?q=" + Sample.text(30), i));
        HeapDump.write();
    }
}
