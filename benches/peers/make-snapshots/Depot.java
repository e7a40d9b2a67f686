// Writes a large heap dump of a Java virtual machine. Usage:
//
//     javac -d CLASSES benches/peers/make-snapshots/Depot.java
//     java -Xmx12g -cp CLASSES Depot FILE.hprof [PARCELS] [live|all]
//
// The heap is what a service with much state looks like: a depot with parcels, routes, customers, an index by text, a
// history in long lists, caches behind soft and weak references, plug-ins that load the same class again and again, and
// threads with something on their stacks. Some 25 objects and 1.3 KB of dump belong to each parcel, so 1,600,000 of them
// (the default) are 40 million objects and 2 GB. Numbers come from a fixed seed: the objects are the same each time, though
// not their addresses.

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

public class Depot {
    enum State { EXPECTED, STORED, LOADED, DELIVERED, LOST }

    record Size(short width, short height, short depth) {}

    // Fields at several levels, of all widths.
    static class Thing {
        final long number;
        State state;
        Thing(long number, State state) { this.number = number; this.state = state; }
    }

    static class Parcel extends Thing {
        final Customer receiver;
        final Size size;
        final String label;
        final Map<String, Object> notes;
        final byte[] scan;
        Event history;
        Parcel neighbour;
        float weight;
        double value;
        boolean fragile;
        byte shelf;
        char zone;
        Parcel(long number, State state, Customer receiver, Size size, String label, byte[] scan, int notes) {
            super(number, state);
            this.receiver = receiver;
            this.size = size;
            this.label = label;
            this.scan = scan;
            this.notes = notes == 0 ? Map.of() : new HashMap<>(notes);
        }
    }

    static class Customer {
        final String name, street, town;
        final List<Parcel> parcels = new ArrayList<>(2);
        final EnumMap<State, Integer> counts = new EnumMap<>(State.class);
        Optional<Customer> recommendedBy = Optional.empty();
        Customer(String name, String street, String town) { this.name = name; this.street = street; this.town = town; }
    }

    // A list that grows at its head: as deep as it is long.
    static class Event {
        final Event before;
        final LocalDate day;
        final State state;
        Event(Event before, LocalDate day, State state) { this.before = before; this.day = day; this.state = state; }
    }

    // A ring of stops with short cuts: many ways lead to each.
    static class Stop {
        Stop next, opposite;
        final int[] minutes;
        final Parcel[] load;
        Stop(int[] minutes, Parcel[] load) { this.minutes = minutes; this.load = load; }
    }

    // A class of which each loader below has its own, of the same name.
    public static class Rules {
        static final Map<String, Integer> LIMITS = new HashMap<>(Map.of("weight", 30));
        final Object[] applied = new Object[4];
    }

    static class Plugin extends ClassLoader {
        Class<?> define(byte[] code) { return defineClass("Depot$Rules", code, 0, code.length); }
    }

    static final List<Customer> CUSTOMERS = new ArrayList<>();
    static final Map<Long, Parcel> BY_NUMBER = new ConcurrentHashMap<>();
    static final TreeMap<String, Parcel> BY_LABEL = new TreeMap<>();
    static final LinkedHashMap<String, SoftReference<byte[]>> PICTURES = new LinkedHashMap<>(16, 0.75f, true);
    static final WeakHashMap<Customer, String> GREETINGS = new WeakHashMap<>();
    static final List<WeakReference<Parcel>> WATCHED = new LinkedList<>();
    static final List<PhantomReference<Object>> GONE = new ArrayList<>();
    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    static final List<Stop> ROUTES = new ArrayList<>();
    static final List<Object> RULES = new ArrayList<>();
    static final ArrayDeque<Object[]> RECENT = new ArrayDeque<>();
    static final BitSet SHELVES = new BitSet();
    static Event log;

    public static void main(String[] words) throws Exception {
        if (words.length == 0) {
            System.err.println("usage: Depot FILE.hprof [PARCELS] [live|all]");
            System.exit(2);
        }
        int parcels = words.length > 1 ? Integer.parseInt(words[1]) : 1_600_000;
        boolean live = words.length < 3 || !words[2].equals("all");
        fill(parcels, new Random(2026));
        RULES.add(new Rules());
        byte[] code = Depot.class.getResourceAsStream("Depot$Rules.class").readAllBytes();
        for (int copy = 0; copy < 3; copy++) {
            RULES.add(new Plugin().define(code).getDeclaredConstructor().newInstance());
        }
        CountDownLatch ready = new CountDownLatch(4);
        for (int worker = 0; worker < 4; worker++) {
            Thread thread = new Thread(() -> work(ready, new byte[100_000]), "picker-" + worker);
            thread.setDaemon(true);
            thread.start();
        }
        ready.await();
        Path file = Path.of(words[0]);
        Files.deleteIfExists(file);
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file.toString(), live);
        System.err.println(file + ": " + Files.size(file) + " bytes");
    }

    static void fill(int parcels, Random random) {
        LocalDate start = LocalDate.of(2026, 1, 1);
        List<Stop> ring = new ArrayList<>();
        Parcel last = null;
        for (int at = 0; at < parcels; at++) {
            if (at % 3 == 0) {
                CUSTOMERS.add(customer(at, random));
            }
            Customer receiver = CUSTOMERS.get(random.nextInt(CUSTOMERS.size()));
            Size size = new Size((short) random.nextInt(100), (short) random.nextInt(100), (short) random.nextInt(100));
            State state = State.values()[random.nextInt(5)];
            byte[] scan = new byte[24 + random.nextInt(80)];
            random.nextBytes(scan);
            // One in ten labels was printed twice.
            String label = "P-" + (random.nextInt(10) == 0 ? random.nextInt(1000) : at);
            Parcel parcel = new Parcel(random.nextLong(), state, receiver, size, label, scan, random.nextInt(3));
            parcel.weight = random.nextFloat();
            parcel.fragile = random.nextBoolean();
            parcel.zone = (char) ('A' + random.nextInt(5));
            parcel.neighbour = last;
            describe(parcel, at, random);
            for (int step = random.nextInt(4); step >= 0; step--) {
                parcel.history = new Event(parcel.history, start.plusDays(random.nextInt(300)), state);
            }
            receiver.parcels.add(parcel);
            receiver.counts.merge(state, 1, Integer::sum);
            BY_NUMBER.put(parcel.number, parcel);
            if (at % 4 == 0) {
                BY_LABEL.put(label, parcel);
            }
            last = at % 50 == 0 ? null : parcel;
            keep(parcel, at, random);
            if (at % 16 == 0) {
                ring.add(new Stop(random.ints(random.nextInt(8), 0, 60).toArray(), new Parcel[] {parcel, last, null}));
                if (ring.size() == 200) {
                    close(ring);
                }
            }
        }
        close(ring);
    }

    static Customer customer(int at, Random random) {
        String name = "customer " + random.nextInt(1 + at / 2);
        String town = new String(new String[] {"Köln", "Oslo", "Łódź", "Lyon"}[random.nextInt(4)]);
        Customer customer = new Customer(name, random.nextInt(200) + " High Street", town);
        if (at % 30 == 0 && !CUSTOMERS.isEmpty()) {
            customer.recommendedBy = Optional.of(CUSTOMERS.get(random.nextInt(CUSTOMERS.size())));
        }
        return customer;
    }

    static void describe(Parcel parcel, int at, Random random) {
        if (parcel.notes instanceof HashMap) {
            parcel.notes.put("declared", BigInteger.valueOf(random.nextLong()).shiftLeft(40));
            parcel.notes.put("remark", "left at door " + random.nextInt(50));
        }
        parcel.value = at % 7 == 0 ? Double.NaN : random.nextInt(1000) / 4.0;
    }

    // Caches and logs.
    static void keep(Parcel parcel, int at, Random random) {
        log = at % 2 == 0 ? new Event(log, LocalDate.EPOCH, parcel.state) : log;
        if (at % 20 == 0) {
            PICTURES.put(parcel.label, new SoftReference<>(new byte[random.nextInt(2000)]));
            WATCHED.add(new WeakReference<>(parcel));
        }
        if (at % 40 == 0) {
            GREETINGS.put(parcel.receiver, "Dear " + parcel.receiver.name);
            GONE.add(new PhantomReference<>(new Object(), QUEUE));
        }
        if (at % 10 == 0) {
            RECENT.addLast(new Object[] {parcel, at, (long) at, at / 3.0, (char) at, new long[] {at}, new boolean[3]});
            SHELVES.set(random.nextInt(1 << 20));
        }
    }

    static void close(List<Stop> ring) {
        for (int at = 0; at < ring.size(); at++) {
            ring.get(at).next = ring.get((at + 1) % ring.size());
            ring.get(at).opposite = ring.get((at + ring.size() / 2) % ring.size());
        }
        if (!ring.isEmpty()) {
            ROUTES.add(ring.get(0));
        }
        ring.clear();
    }

    static void work(CountDownLatch ready, byte[] local) {
        StringBuilder text = new StringBuilder("working on ").append(local.length);
        synchronized (text) {
            ready.countDown();
            try {
                text.wait();
            } catch (InterruptedException stop) {
                System.err.println(text);
            }
        }
    }
}
