package forms;
import java.lang.reflect.*;
import java.util.*;
import ops.*;
public class Main {
    static final RuleBook BOOK = new RuleBook();
    static final Map<Class<?>, Object> STUBS = new HashMap<>();
    static final List<String> HELP = new ArrayList<>();
    static final Map<Integer, List<String>> DRAFTS = new TreeMap<>();
    public static void main(String[] a) throws Exception {
        Rules0.register(BOOK);
        Rules1.register(BOOK);
        Rules2.register(BOOK);
        Rules3.register(BOOK);
        Rules4.register(BOOK);
        Rules5.register(BOOK);
        Rules6.register(BOOK);
        Rules7.register(BOOK);
        Rules8.register(BOOK);
        Rules9.register(BOOK);
        Rules10.register(BOOK);
        Rules11.register(BOOK);
        Rules12.register(BOOK);
        Rules13.register(BOOK);
        Rules14.register(BOOK);
        for (int i = 0; i < 500; i++) {
            Class<?> c = Class.forName("forms.Services$Service" + i);
            STUBS.put(c, Proxy.newProxyInstance(Main.class.getClassLoader(), new Class<?>[] { c }, new Stub("http://forms/" + i)));
        }
        for (int i = 0; i < 9000; i++) HELP.add(Sample.text(110));
        for (int i = 0; i < 1200; i++) { List<String> l = new ArrayList<>(); for (int k = 0; k < 6; k++) l.add(Sample.text(60)); DRAFTS.put(i, l); }
        System.out.println(BOOK.size() + " " + STUBS.size() + BOOK.ok("section3.field4", "hello"));
        HeapDump.write();
    }
    static class Stub implements InvocationHandler { final String url; Stub(String u) { url = u; } public Object invoke(Object p, Method m, Object[] a) { return m.getName().equals("hashCode") ? (Object) 1 : url; } }
}
