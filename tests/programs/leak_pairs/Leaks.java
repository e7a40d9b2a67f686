import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One of many leaks, and a dump of it: {@code java Leaks.java KIND plain|renumbered OUT.hprof}. Where classes are
 * renumbered, other lambdas and proxies are made first.
 */
public class Leaks {
    static final int MANY = 4000;

    static class Session {
        final long user;
        final String token;
        final long[] visits = new long[24];

        Session(long user) {
            this.user = user;
            this.token = "token of " + user;
        }
    }

    interface Page {
        Object show(String name);
    }

    static class SessionCache { static final Map<Integer, Session> SESSIONS = new HashMap<>(); }
    static class Directory { static final Map<String, Session> BY_TOKEN = new ConcurrentHashMap<>(); }
    static class AuditLog { static final List<Session> ENTRIES = new ArrayList<>(); }
    static class Backlog { static final LinkedList<Session> JOBS = new LinkedList<>(); }
    static class Registry { static final Set<Session> MEMBERS = new HashSet<>(); }
    static class Recent { static final Map<Integer, Session> SEEN = new LinkedHashMap<>(); }
    static class Ranking { static final TreeMap<Integer, Session> BY_SCORE = new TreeMap<>(); }
    static class Locks { static final Map<Session, Object> HELD = new IdentityHashMap<>(); }
    static class Inbox { static final ConcurrentLinkedQueue<Session> MAILS = new ConcurrentLinkedQueue<>(); }
    static class Work { static final LinkedBlockingQueue<Runnable> QUEUE = new LinkedBlockingQueue<>(); }
    static class Followers { static final CopyOnWriteArrayList<Function<Integer, Long>> ALL = new CopyOnWriteArrayList<>(); }
    static class Pages { static final List<Page> OPEN = new ArrayList<>(); }
    static class Forms { static final ArrayDeque<Callable<Long>> DRAFTS = new ArrayDeque<>(); }
    static class Gate { static final List<CompletableFuture<Session>> WAITING = new ArrayList<>(); }
    static class Timers { static final ScheduledExecutorService POOL = Executors.newSingleThreadScheduledExecutor(Leaks::daemon); }
    static class Tenants { static final Map<String, Map<Integer, Session>> BY_NAME = new HashMap<>(); }
    static class Scratch { static final ThreadLocal<List<Session>> OF_THREAD = ThreadLocal.withInitial(ArrayList::new); }

    static class Node {
        final Session session;
        final Node next;

        Node(Session session, Node next) {
            this.session = session;
            this.next = next;
        }
    }

    static class Stack { static Node top; }

    static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "timers");
        thread.setDaemon(true);
        return thread;
    }

    static Page page(Session session) {
        InvocationHandler handler = (proxy, method, arguments) -> session.token + arguments[0];
        return (Page) Proxy.newProxyInstance(Leaks.class.getClassLoader(), new Class<?>[] {Page.class}, handler);
    }

    static Callable<Long> form(Session session) {
        return new Callable<>() {
            @Override
            public Long call() {
                return session.user;
            }
        };
    }

    static void leak(String kind, int user) {
        Session session = new Session(user);
        switch (kind) {
            case "hash_map" -> SessionCache.SESSIONS.put(user, session);
            case "concurrent_map" -> Directory.BY_TOKEN.put(session.token, session);
            case "array_list" -> AuditLog.ENTRIES.add(session);
            case "linked_list" -> Backlog.JOBS.add(session);
            case "hash_set" -> Registry.MEMBERS.add(session);
            case "linked_map" -> Recent.SEEN.put(user, session);
            case "tree_map" -> Ranking.BY_SCORE.put(user, session);
            case "identity_map" -> Locks.HELD.put(session, Boolean.TRUE);
            case "concurrent_queue" -> Inbox.MAILS.add(session);
            case "queued_lambdas" -> Work.QUEUE.add(() -> session.visits[0]++);
            case "listening_lambdas" -> Followers.ALL.add(price -> session.user + price);
            case "proxies" -> Pages.OPEN.add(page(session));
            case "anonymous_classes" -> Forms.DRAFTS.add(form(session));
            case "futures" -> {
                CompletableFuture<Session> future = new CompletableFuture<>();
                future.whenComplete((value, error) -> session.visits[1]++);
                Gate.WAITING.add(future);
            }
            case "timers" -> Timers.POOL.schedule(() -> session.visits[0]++, 1, TimeUnit.DAYS);
            case "nested_maps" -> Tenants.BY_NAME.computeIfAbsent("tenant " + user % 50, name -> new HashMap<>()).put(user, session);
            case "thread_local" -> Scratch.OF_THREAD.get().add(session);
            case "own_list" -> Stack.top = new Node(session, Stack.top);
            default -> throw new IllegalArgumentException(kind);
        }
    }

    /** Takes numbers, so that the lambdas and proxies that follow get others. */
    static long renumber() {
        List<Supplier<Long>> others = List.of(() -> 1L, () -> 2L, () -> 3L, () -> 4L, () -> 5L, () -> 6L);
        Object proxy = Proxy.newProxyInstance(
                Leaks.class.getClassLoader(), new Class<?>[] {Comparable.class}, (self, method, arguments) -> 0);
        return others.stream().mapToLong(Supplier::get).sum() + ((Comparable<?>) proxy).compareTo(null);
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[1].equals("renumbered")) {
            System.err.println(renumber());
        }
        for (int user = 0; user < MANY; user++) {
            leak(arguments[0], user);
        }
        var server = ManagementFactory.getPlatformMBeanServer();
        var bean = ManagementFactory.newPlatformMXBeanProxy(
                server, "com.sun.management:type=HotSpotDiagnostic", com.sun.management.HotSpotDiagnosticMXBean.class);
        bean.dumpHeap(arguments[2], true);
        System.exit(0);
    }
}
