package mail;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> ADDRESSES = new HashMap<>();
    static final MailRenderer RENDERER = new MailRenderer();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) ADDRESSES.put("u" + i, Sample.text(40));
        for (int i = 0; i < 5000; i++) RENDERER.render("Hello ${name} " + Sample.text(1200), Map.of("name", "u" + i));
        HeapDump.write();
    }
}
