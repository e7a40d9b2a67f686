package rail;
import com.github.benmanes.caffeine.cache.*;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> STATIONS = new TreeMap<>();
    static Timetable timetable;
    static final LoadingCache<String, String> DEPARTURES = Caffeine.newBuilder().maximumWeight(2_500_000).weigher((String k, String v) -> v.length()).executor(Runnable::run).build(k -> k + timetable.stops("RE" + k.length() % 10) + Sample.text(1100));
    public static void main(String[] a) throws Exception {
        timetable = new Timetable();
        for (int i = 0; i < 16000; i++) STATIONS.put("station " + i, Sample.text(150));
        int shown = 0;
        for (int i = 0; i < 9000; i++) shown += DEPARTURES.get("board-" + Sample.rnd(7000)).length();
        DEPARTURES.cleanUp();
        System.out.println(shown + " " + DEPARTURES.estimatedSize() + " " + timetable.lines());
        HeapDump.write();
    }
}
