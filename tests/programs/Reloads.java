import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A server that deploys applications, each with a class loader of its own. Writes a heap dump:
 *
 *     java Reloads.java leaking|healthy FILE
 *
 * leaking: one application is deployed twelve times; a library of the server keeps an object of each old one.
 * healthy: twelve applications are deployed once, and all are in use.
 */
public class Reloads {
    /** What the server keeps of an application; dead ones are not here. */
    static final Map<String, Object> DEPLOYED = new HashMap<>();

    /** The library, in which applications register themselves and which nobody tells when they go. */
    public static class Drivers {
        public static final List<Object> REGISTERED = new ArrayList<>();
    }

    /** An application. */
    public static class App {
        static final Object DRIVER = new Driver();
        static final List<byte[]> CACHE = new ArrayList<>();
        final Map<String, Session> sessions = new HashMap<>();

        public App() {
            // Different in each application and each time, as caches are.
            for (int i = 0; i < 16; i++) {
                byte[] page = new byte[64 << 10];
                new Random().nextBytes(page);
                CACHE.add(page);
            }
            for (int i = 0; i < 1000; i++) sessions.put("session " + i, new Session());
        }
    }

    /** Of an application, known to the library. */
    public static class Driver {
        public Driver() {
            Drivers.REGISTERED.add(this);
        }
    }

    public static class Session {
        final long began = System.nanoTime();
    }

    /** Defines the classes of an application itself; all others come from the server. */
    static class AppLoader extends ClassLoader {
        final List<String> own;
        Object app;

        AppLoader(List<String> own) {
            super(Reloads.class.getClassLoader());
            this.own = own;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!own.contains(name)) return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) return loaded;
            try (InputStream in = getParent().getResourceAsStream(name + ".class")) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    public abstract static class Plugin {
        final byte[] state = new byte[1 << 20];

        protected Plugin() {
            new Random().nextBytes(state);
        }
    }

    public static class Plugin1 extends Plugin {}
    public static class Plugin2 extends Plugin {}
    public static class Plugin3 extends Plugin {}
    public static class Plugin4 extends Plugin {}
    public static class Plugin5 extends Plugin {}
    public static class Plugin6 extends Plugin {}
    public static class Plugin7 extends Plugin {}
    public static class Plugin8 extends Plugin {}
    public static class Plugin9 extends Plugin {}
    public static class PluginA extends Plugin {}
    public static class PluginB extends Plugin {}
    public static class PluginC extends Plugin {}

    static void deploy(String name, String... classes) throws Exception {
        AppLoader loader = new AppLoader(List.of(classes));
        loader.app = loader.loadClass(classes[0]).getDeclaredConstructor().newInstance();
        DEPLOYED.put(name, loader);
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 12; i++) {
            if (arguments[0].equals("leaking")) {
                deploy("shop", "Reloads$App", "Reloads$Driver", "Reloads$Session");
            } else {
                String name = "Reloads$Plugin" + "123456789ABC".charAt(i);
                deploy(name, name);
            }
        }
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(arguments[1], true);
    }
}
