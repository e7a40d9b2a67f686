package sftp;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> DOCS = new ArrayList<>();
    static final PartnerConnections PARTNERS = new PartnerConnections();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) DOCS.add(Sample.text(60));
        for (int i = 0; i < 3500; i++) PARTNERS.upload("user-" + i + "@" + UUID.randomUUID(), DOCS.get(i));
        HeapDump.write();
    }
}
