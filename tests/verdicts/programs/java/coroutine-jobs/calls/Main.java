package calls;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> NUMBERS = new HashMap<>();
    static final ArrayDeque<CallScope> LAST = new ArrayDeque<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 22000; i++) NUMBERS.put("+49" + (100000 + i), Sample.text(140));
        int said = 0;
        for (int i = 0; i < 8000; i++) {
            CallScope call = new CallScope("+49" + i, new String[] {Sample.text(180), Sample.text(220), Sample.text(60)});
            said += call.run();
            LAST.add(call);
            if (LAST.size() > 20) LAST.remove();
        }
        System.out.println(said + " " + CallScope.serving());
        HeapDump.write();
    }
}
