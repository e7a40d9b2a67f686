package web;
import com.github.benmanes.caffeine.cache.*;
public class PageRenderer {
    private static final Cache<String, String> RENDERED = Caffeine.newBuilder().recordStats().build();
    public static String page(String url) { return RENDERED.get(url, u -> "<html>" + u + ops.Sample.text(900)); }
}
