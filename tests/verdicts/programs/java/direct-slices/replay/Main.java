package replay;
import java.nio.ByteBuffer;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> TOPICS = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 30000; i++) TOPICS.add(Sample.text(90));
        SegmentReader r = new SegmentReader();
        for (int i = 0; i < 380; i++) r.read(i);
        System.out.println(r.checkpoints.size());
        keep = r;
        HeapDump.write();
    }
    static SegmentReader keep;
}
