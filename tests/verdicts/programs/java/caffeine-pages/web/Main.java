package web;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> REDIRECTS = new HashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 25000; i++) REDIRECTS.put("/old/" + i, "/new/" + Sample.text(30));
        for (int i = 0; i < 14000; i++) PageRenderer.page("/search?q=" + i + "&s=" + Sample.rnd(9999));
        HeapDump.write();
    }
}
