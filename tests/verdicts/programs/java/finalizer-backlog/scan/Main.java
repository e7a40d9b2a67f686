package scan;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> ARCHIVE = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 25000; i++) ARCHIVE.add(Sample.text(60));
        Thread t = new Thread(TileSpool::compact, "spool-compactor"); t.setDaemon(true); t.start();
        Thread.sleep(300);
        long n = 0;
        for (int i = 0; i < 9000; i++) n += new PageBitmap(i, 1500).size();
        System.gc(); Thread.sleep(500);
        HeapDump.write();
    }
}
