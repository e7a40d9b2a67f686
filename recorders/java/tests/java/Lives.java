import java.util.ArrayList;
import java.util.List;

/**
 * Objects with known lifetimes in collections, which it asks for: Short dies in the next one, Middle in the one after,
 * Long never. Argument: objects of each class per round; there are five rounds.
 */
public final class Lives {
    static final class Short { int a; }
    static final class Middle { int b; }
    static final class Long { int c; }

    static final List<Object> forever = new ArrayList<>();
    static List<Object> current = new ArrayList<>();

    public static void main(String[] args) throws InterruptedException {
        int objects = Integer.parseInt(args[0]);
        for (int round = 0; round < 5; round++) {
            List<Object> next = new ArrayList<>();
            for (int i = 0; i < objects; i++) {
                keep(new Short());
                next.add(new Middle());
                forever.add(new Long());
            }
            last = null;
            current = next;
            next = null;
            System.gc();
            // The virtual machine reports deaths from a thread of its own.
            Thread.sleep(100);
        }
        System.out.println(forever.size());
    }

    static volatile Object last;

    static void keep(Object object) {
        last = object;
    }
}
