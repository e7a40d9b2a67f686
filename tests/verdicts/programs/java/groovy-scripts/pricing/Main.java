package pricing;
import java.util.*;
import ops.*;
public class Main {
    static final List<String> PRODUCTS = new ArrayList<>();
    static final RuleEngine ENGINE = new RuleEngine();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 20000; i++) PRODUCTS.add(Sample.text(50));
        int sum = 0;
        for (int i = 0; i < 700; i++) sum += ((Number) ENGINE.apply("qty > 10 ? qty * 9 : qty * 10 + " + i % 3, new HashMap<>(Map.of("qty", i)))).intValue();
        System.out.println(sum);
        HeapDump.write();
    }
}
