package clinic;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> PATIENTS = new TreeMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 12000; i++) PATIENTS.put("p" + i, Sample.text(50));
        ReminderService s = new ReminderService();
        for (int i = 0; i < 9000; i++) s.remindOnce("v" + i, "Dear " + PATIENTS.get("p" + i) + Sample.text(400));
        Thread.sleep(5000);
        HeapDump.write();
    }
}
