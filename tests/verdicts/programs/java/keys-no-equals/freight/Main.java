package freight;
import java.util.*;
import ops.*;
public class Main {
    static final Map<Integer, String> DEPOTS = new HashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 30000; i++) DEPOTS.put(i, Sample.text(40));
        double sum = 0;
        for (int i = 0; i < 60000; i++) sum += TariffBook.tariff("D" + i % 5000, "D" + i % 37 + i % 11).zones[3];
        System.out.println(sum);
        HeapDump.write();
    }
}
