package cms;
import java.io.File;
import java.net.*;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> PAGES = new HashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) PAGES.put("/page/" + i, Sample.text(120));
        URL[] at = { new File(System.getProperty("pluginDir")).toURI().toURL() };
        for (int i = 0; i < 260; i++) {
            try (URLClassLoader l = new URLClassLoader("gallery-" + i, at, Main.class.getClassLoader())) {
                Extension e = (Extension) l.loadClass("gallery.GalleryExtension").getDeclaredConstructor().newInstance();
                e.start();
                e.stop();
            }
        }
        System.out.println(PublishEvents.size());
        HeapDump.write();
    }
}
