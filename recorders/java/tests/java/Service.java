import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A service as a benchmark: parses orders from JSON, sums and groups them, keeps some in a cache, and writes JSON.
 * Arguments: seconds to warm up, seconds to measure, threads. Prints requests per second of processor time of the
 * threads that serve, which other programs on the machine change little.
 */
public final class Service {
    record Item(String name, int count, double price) {}
    record Order(long id, String customer, List<Item> items) {
        double total() {
            return items.stream().mapToDouble(item -> item.count() * item.price()).sum();
        }
    }

    /** A JSON reader for objects, arrays, texts without escapes, and numbers. */
    static final class Reader {
        final String text;
        int at;

        Reader(String text) { this.text = text; }

        Object value() {
            char c = text.charAt(at);
            if (c == '{') {
                Map<String, Object> map = new LinkedHashMap<>();
                at++;
                while (text.charAt(at) != '}') {
                    if (text.charAt(at) == ',') at++;
                    String key = string();
                    at++;
                    map.put(key, value());
                }
                at++;
                return map;
            }
            if (c == '[') {
                List<Object> list = new ArrayList<>();
                at++;
                while (text.charAt(at) != ']') {
                    if (text.charAt(at) == ',') at++;
                    list.add(value());
                }
                at++;
                return list;
            }
            if (c == '"') return string();
            int from = at;
            while ("+-.0123456789E".indexOf(text.charAt(at)) >= 0) at++;
            return Double.valueOf(text.substring(from, at));
        }

        String string() {
            int end = text.indexOf('"', at + 1);
            String string = text.substring(at + 1, end);
            at = end + 1;
            return string;
        }
    }

    @SuppressWarnings("unchecked")
    static Order order(Object parsed) {
        Map<String, Object> map = (Map<String, Object>) parsed;
        List<Item> items = new ArrayList<>();
        for (Object of : (List<Object>) map.get("items")) {
            Map<String, Object> item = (Map<String, Object>) of;
            items.add(new Item((String) item.get("name"), ((Double) item.get("count")).intValue(), (Double) item.get("price")));
        }
        return new Order(((Double) map.get("id")).longValue(), (String) map.get("customer"), items);
    }

    static String request(long id) {
        StringBuilder text = new StringBuilder("{\"id\":").append(id).append(",\"customer\":\"c").append(id % 1000).append("\",\"items\":[");
        for (int i = 0; i < 10 + id % 20; i++) {
            if (i > 0) text.append(',');
            text.append("{\"name\":\"item").append((id * 31 + i) % 5000).append("\",\"count\":").append(i % 7 + 1)
                .append(",\"price\":").append((id + i) % 100).append(".5}");
        }
        return text.append("]}").toString();
    }

    static String answer(Order order, Map<String, Integer> groups) {
        StringBuilder text = new StringBuilder("{\"id\":").append(order.id()).append(",\"total\":").append(order.total());
        groups.forEach((name, count) -> text.append(",\"").append(name).append("\":").append(count));
        return text.append('}').toString();
    }

    static volatile boolean done;
    static final java.lang.management.ThreadMXBean TIMES = java.lang.management.ManagementFactory.getThreadMXBean();

    static long serve(int thread) {
        Map<Long, Order> cache = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, Order> eldest) { return size() > 20_000; }
        };
        long requests = 0;
        for (long id = thread; !done; id += 8) {
            Order order = order(new Reader(request(id)).value());
            Map<String, Integer> groups = new LinkedHashMap<>();
            for (Item item : order.items()) groups.merge(item.name(), item.count(), Integer::sum);
            if (answer(order, groups).length() > 10) cache.put(id % 50_000, order);
            requests++;
        }
        return requests;
    }

    static double measure(int seconds, int threads) throws InterruptedException {
        done = false;
        long[] requests = new long[threads], nanos = new long[threads];
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int number = i;
            all[i] = new Thread(() -> {
                requests[number] = serve(number);
                nanos[number] = TIMES.getCurrentThreadCpuTime();
            }, "service-" + i);
            all[i].start();
        }
        Thread.sleep(seconds * 1000L);
        done = true;
        for (Thread thread : all) thread.join();
        long sum = 0, time = 0;
        for (int i = 0; i < threads; i++) {
            sum += requests[i];
            time += nanos[i];
        }
        return sum / (time / 1e9);
    }

    public static void main(String[] args) throws InterruptedException {
        measure(Integer.parseInt(args[0]), Integer.parseInt(args[2]));
        System.out.printf("%.0f%n", measure(Integer.parseInt(args[1]), Integer.parseInt(args[2])));
    }
}
