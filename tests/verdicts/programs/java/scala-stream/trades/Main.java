package trades;
import java.util.*;
import ops.*;
import scala.runtime.*;
public class Main {
    static final List<String> TRADERS = new ArrayList<>();
    static double total;
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) TRADERS.add(Sample.text(70));
        DayTape tape = DayTape.TODAY;
        tape.ticks.foreach(new AbstractFunction1<Tick, BoxedUnit>() { public BoxedUnit apply(Tick t) { total += t.price; return BoxedUnit.UNIT; } });
        System.out.println(total);
        HeapDump.write();
    }
}
