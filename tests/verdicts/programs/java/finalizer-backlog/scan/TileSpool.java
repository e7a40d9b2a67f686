package scan;
public class TileSpool {
    static final Object LOCK = new Object();
    static long released;
    static void release(int page, int bytes) { synchronized (LOCK) { released += bytes; } }
    /** Waits for a scanner that never answers, with the lock held. */
    static void compact() { synchronized (LOCK) { try { Thread.sleep(3600_000); } catch (InterruptedException e) { Thread.currentThread().interrupt(); } } }
}
