import java.util.concurrent.CountDownLatch;

/**
 * Allocates numbers of objects of its own classes that it knows, and prints them: class, objects, bytes unknown.
 * Arguments: objects per thread, threads, and "wait" to wait for a line of the standard input first.
 */
public final class Counted {
    static final class Order { int a; }
    static final class Item { long b, c; }
    static final class Rare { Object d; }
    static class Copied implements Cloneable {
        int e;
        Copied copy() throws CloneNotSupportedException { return (Copied) clone(); }
    }
    record Pair(Object left, Object right) {}

    /** Escapes, so that the compiler cannot remove allocations. */
    static volatile Object escape;

    static void work(int objects) {
        try {
            Copied first = new Copied();
            Object[] kept = new Object[64];
            for (int i = 0; i < objects; i++) {
                escape = new Order();
                if (i % 2 == 0) escape = kept[i % 64] = new Item();
                if (i % 1000 == 0) escape = new Rare();
                if (i % 3 == 0) escape = first.copy();
                if (i % 5 == 0) escape = new Pair(kept, first);
                if (i % 7 == 0) escape = new Item[i % 50];
                if (i % 11 == 0) escape = new Order[2][3];
                if (i % 13 == 0) escape = java.lang.reflect.Array.newInstance(Rare.class, 5);
                if (i % 100 == 0) escape = Rare.class.getDeclaredConstructor().newInstance();
            }
        } catch (ReflectiveOperationException | CloneNotSupportedException e) {
            throw new IllegalStateException(e);
        }
    }

    static long times(long objects, long every) {
        return (objects + every - 1) / every;
    }

    public static void main(String[] args) throws Exception {
        int objects = Integer.parseInt(args[0]), count = Integer.parseInt(args[1]);
        if (args.length > 2 && args[2].equals("wait")) {
            System.out.println("ready " + ProcessHandle.current().pid());
            System.in.read();
        }
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> { work(objects); done.countDown(); }, "worker-" + i);
            thread.start();
        }
        done.await();
        long n = objects;
        long[][] counts = {
            {n}, {times(n, 2)}, {times(n, 1000) + times(n, 100)}, {times(n, 3) + 1}, {times(n, 5)},
            {times(n, 7)}, {2 * times(n, 11)}, {times(n, 11)}, {times(n, 13)},
        };
        String[] names = {
            "Counted$Order", "Counted$Item", "Counted$Rare", "Counted$Copied", "Counted$Pair",
            "Counted$Item[]", "Counted$Order[]", "Counted$Order[][]", "Counted$Rare[]",
        };
        for (int i = 0; i < names.length; i++) {
            System.out.println("count " + names[i] + " " + counts[i][0] * count);
        }
    }
}
