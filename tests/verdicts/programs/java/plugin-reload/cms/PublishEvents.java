package cms;
import java.util.*;
import java.util.function.Consumer;
public final class PublishEvents {
    private static final List<Consumer<String>> subscribers = new ArrayList<>();
    private PublishEvents() {}
    public static synchronized void subscribe(Consumer<String> c) { subscribers.add(c); }
    public static synchronized void unsubscribe(Consumer<String> c) { subscribers.remove(c); }
    public static int size() { return subscribers.size(); }
}
