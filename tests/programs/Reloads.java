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
 *     java Reloads.java leaking|healthy|scripts FILE
 *
 * leaking: one application is deployed twelve times; a library of the server keeps an object of each old one.
 * healthy: twelve applications are deployed once, and all are in use.
 * scripts: a text is compiled anew each time that it runs, into a class with the next number.
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

    public static class Script000 {
        static final byte[] CODE = new byte[20 << 10];

        public Script000() {
            new Random().nextBytes(CODE);
        }
    }

    /** Compiles a script: all that differs is the name. */
    static class ScriptLoader extends ClassLoader {
        ScriptLoader() {
            super(Reloads.class.getClassLoader());
        }

        Object run(int number) throws Exception {
            byte[] code;
            try (InputStream in = getParent().getResourceAsStream("Reloads$Script000.class")) {
                code = in.readAllBytes();
            }
            String text = new String(code, java.nio.charset.StandardCharsets.ISO_8859_1);
            text = text.replace("Script000", String.format("Script%03d", number));
            code = text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
            return defineClass(null, code, 0, code.length).getDeclaredConstructor().newInstance();
        }
    }

    static void deploy(String name, String... classes) throws Exception {
        AppLoader loader = new AppLoader(List.of(classes));
        loader.app = loader.loadClass(classes[0]).getDeclaredConstructor().newInstance();
        DEPLOYED.put(name, loader);
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 1; i <= 300 && arguments[0].equals("scripts"); i++) {
            DEPLOYED.put("text " + i, new ScriptLoader().run(i));
        }
        for (int i = 0; i < 12 && !arguments[0].equals("scripts"); i++) {
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
