package parcels;
import clojure.java.api.Clojure;
import clojure.lang.*;
import ops.*;
public class Main {
    public static void main(String[] a) throws Exception {
        RT.loadResourceScript("parcels/tariffs.clj");
        Clojure.var("parcels.tariffs", "run").invoke(16000);
        HeapDump.write();
    }
}
