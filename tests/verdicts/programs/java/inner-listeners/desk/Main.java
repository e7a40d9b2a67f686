package desk;
import java.util.*;
import ops.*;
public class Main {
    static final Deque<String> HISTORY = new ArrayDeque<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) HISTORY.add(Sample.text(50));
        int area = 0;
        for (int i = 0; i < 5000; i++) area += new OrderPanel("Order " + i).area();
        ThemeManager.get().apply();
        System.out.println(area);
        HeapDump.write();
    }
}
