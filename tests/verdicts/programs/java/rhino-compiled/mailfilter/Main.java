package mailfilter;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> SENDERS = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 26000; i++) SENDERS.add(Sample.text(60));
        int hits = 0;
        for (int i = 0; i < 800; i++) hits += FilterScripts.matches("size > 100 && from.indexOf('birch') >= 0 && day < " + (20000 + i), 50 + i, SENDERS.get(i)) ? 1 : 0;
        System.out.println(hits);
        HeapDump.write();
    }
}
