package render;
import java.io.File;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> FONTS = new ArrayList<>();
    static volatile Object sink;
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 9000; i++) FONTS.add(Sample.text(80));
        for (int i = 0; i < 32000; i++) PdfJob.spool(i);
        System.gc();
        for (int i = 0; i < 4200; i++) {
            double[] page = new double[500]; String s = "page " + i; ArrayList<Object> l = new ArrayList<>(List.of(page, s)); sink = l;
        }
        sink = null;
        HeapDump.write(false);
    }
}
