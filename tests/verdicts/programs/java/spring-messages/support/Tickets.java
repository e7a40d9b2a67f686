package support;
import java.util.*;
public class Tickets {
    private final LinkedHashMap<String, String[]> recent = new LinkedHashMap<>() {
        @Override protected boolean removeEldestEntry(Map.Entry<String, String[]> e) { return size() > 6000; }
    };
    public void opened(String id) { recent.put(id, new String[] {ops.Sample.text(300), ops.Sample.text(90), id}); }
    public int count() { return recent.size(); }
}
