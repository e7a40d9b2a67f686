package batch;
import java.util.*;
import org.apache.logging.log4j.*;
import ops.*;
public class Main {
    static final Map<Integer, String> JOBS = new HashMap<>();
    private static final org.apache.logging.log4j.Logger LOG = LogManager.getLogger(Main.class);
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) JOBS.put(i, Sample.text(50));
        for (int i = 0; i < 1500; i++) { JobLog.open("n" + i); LOG.error("job {} {}", i, JOBS.get(i) + Sample.text(150)); }
        HeapDump.write();
    }
}
