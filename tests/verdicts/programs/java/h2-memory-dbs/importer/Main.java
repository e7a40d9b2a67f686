package importer;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> CATALOGUE = new HashMap<>();
    static final List<byte[]> LOGOS = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) CATALOGUE.put("sku-" + i, Sample.text(160));
        for (int i = 0; i < 60; i++) LOGOS.add(new byte[30000]);
        int changed = 0;
        for (int upload = 0; upload < 20; upload++) {
            List<String[]> rows = new ArrayList<>();
            for (int i = 0; i < 350; i++) rows.add(new String[] {"sku-" + i, Sample.text(90)});
            changed += new PreviewDatabase().load(rows);
        }
        System.out.println(changed);
        HeapDump.write();
    }
}
