package lobby;
import java.util.*;
class IdleWatch {
    private final Timer timer = new Timer("idle-watch", true);
    TimerTask login(Visit v) {
        TimerTask t = new TimerTask() { @Override public void run() { v.away = true; } };
        timer.schedule(t, 24L * 3600 * 1000);
        return t;
    }
}
