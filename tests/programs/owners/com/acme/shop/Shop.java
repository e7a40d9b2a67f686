package com.acme.shop;

import com.acme.cache.Cache;
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/** Writes a heap dump: Shop CLASSES DUMP. */
public final class Shop {
    static Shop shop;
    private final Cache cache = new Cache();
    private final Order[] orders = new Order[500];

    record Order(int number, String what) {}

    /** As {@link URLClassLoader}, but asks nobody before it. */
    static final class PluginLoader extends URLClassLoader {
        PluginLoader(URL classes) {
            super(new URL[] {classes}, null);
        }
    }

    public static void main(String[] args) throws Exception {
        shop = new Shop();
        shop.cache.fill(2000);
        for (int i = 0; i < shop.orders.length; i++) shop.orders[i] = new Order(i, "order " + i);
        ClassLoader loader = new PluginLoader(Path.of(args[0]).toUri().toURL());
        Runnable plugin = (Runnable) loader.loadClass("com.acme.plugin.Plugin").getConstructor().newInstance();
        plugin.run();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(args[1], true);
        if (plugin.hashCode() == 0) System.out.println(loader);
    }
}
